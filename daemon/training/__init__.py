"""One training run from configuration to report: checked, opened, trained, published.

`honed train` and the daemon both go through here; whoever calls says where sentences for people go.
"""

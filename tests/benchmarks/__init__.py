"""What honed costs, measured beside the bare CLIs in the same run: `python -m tests.benchmarks`, or `make bench`."""

"""Asking and steering a running daemon: HTTP over a unix socket that its own user alone may open.

`serve_control` is the daemon's side, `Client` a verb's; both know nothing but the `Desk` seam. Whether a daemon runs
is what connecting to the socket says, and nothing else.
"""

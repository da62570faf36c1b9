"""The sidecar.

Decides what is worked on and when, and keeps what came of it; the only package that knows all others.
"""

__version__ = "0.1.0"

"""The `honed` command, one file a group of verbs."""

from daemon.cli.app import main

__all__ = ["main"]

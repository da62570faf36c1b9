"""The `honed` command, one file a group of verbs."""

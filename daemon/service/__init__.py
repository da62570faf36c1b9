"""The daemon process: start, work, drain, stop; what it knows of its projects, and the desk where it can be asked."""

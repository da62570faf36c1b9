"""The attacks, a module for each subject; every module is found by its name alone (`registry.py`)."""

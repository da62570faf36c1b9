"""Fuzzing of whatever reads hostile bytes; `python -m tests.fuzz`, and a small part of it in the everyday tests."""

"""What is measured.

The task model, formats, splits and scorers.
"""

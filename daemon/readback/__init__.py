"""What a run decided, read back from the journal alone: for `honed show`.

Nothing is asked of anyone and nothing is written. The sealed test is told by its figures, never by task.
"""

"""How a result becomes a score.

One scorer a file, found by name in `registry`; a scorer that cannot say raises `VerifierError`, never a low score.
"""

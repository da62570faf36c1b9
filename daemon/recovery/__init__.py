"""After a crash: journal rows, boxes, attempts' folders and git are brought to agree again.

`reconcile.py` is a pure function with a table of cases; `look.py` sees, `hand.py` does.
"""

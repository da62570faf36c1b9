"""Money, tokens and time: what a run will take, what it may take, and when to stop.

Caps are checked before anything is paid. An unknown price is said, never taken for zero.
"""

"""Worlds that an agent acts in step by step: text games, each in a process of its own.

A game runs in `worker`, which `process` talks to; `opening` makes a task's episode of it. The verdict is the engine's.
"""

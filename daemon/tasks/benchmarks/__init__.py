"""Public benchmarks: each one module that reads its files into tasks, an initial skill, and a small sample of our own.

No benchmark's data is part of this project: `places` says where it is looked for.
"""

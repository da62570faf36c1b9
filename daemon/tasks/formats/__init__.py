"""How task sets lie on disk.

`jsonl` reads a tasks.jsonl, `harbor` a folder of Harbor tasks; both give `Task`s without digest and refuse what is odd.
"""

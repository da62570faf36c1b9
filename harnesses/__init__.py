"""How an agent is driven.

One `Harness` protocol over plain chat, Codex and Claude Code; workspaces, traces and outcomes.
"""

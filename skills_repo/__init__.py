"""The skills as a git repository.

Read, validate, render and edit SKILL.md; commit edits without touching anyone's working tree.
"""

"""How a step's update comes about: one update mode a file, all ending in edits that `skills_repo.edits.apply` bounds.

Patch: local edits. Suggestions: chosen suggestions condition a rewrite of the body. Rewrite: whole bodies, no budget.
"""

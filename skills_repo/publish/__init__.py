"""How accepted edits leave the machine: a push, a pull request, a merge request.

Knows git and the forges, and nothing of journals or models: what a body says beyond the commits is handed in
as `Facts`.
"""

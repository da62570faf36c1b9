"""The optimizer's prompts: one readable template a role, rendered only here.

Skill, traces and replies are shown as data inside fixed markers, which nothing inside them can close.
"""

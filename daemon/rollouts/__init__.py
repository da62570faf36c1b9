"""Rollouts: run tasks with a skill, score what came of it, remember it by content.

A failure of ours is never a score, and nothing is paid for twice.
"""

"""The text-space optimizer.

Rollouts, reflection, merge, ranking, schedules, gate and memory (SkillOpt, arXiv 2605.23904).
"""

"""Real agent sessions of people, as evidence: read, stripped of secrets, boiled down to what went wrong.

Reading them is opt-in. Nothing in here decides a score, and no draft made of it enters a gate before a person accepts.
"""

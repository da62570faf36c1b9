"""The journal: every attempt, optimizer reply and decision, written before it is used."""

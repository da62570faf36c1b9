"""What changed: events only cause a look, a look reads what stands, and what differs from the last one is a cause.

A missed event, a double one and a restart are therefore all harmless.
"""

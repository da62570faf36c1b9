"""`make faults`: whole runs while model calls and sandboxes fail at random, against the same runs without a fault."""

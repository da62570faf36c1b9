"""What the daemon tells the world: events, canonical log lines, health, metrics, hooks."""

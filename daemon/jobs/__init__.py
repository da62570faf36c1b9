"""What the daemon has to do: causes, jobs, the queue that survives a kill, and which job comes next."""

"""Which system calls a command in a box may make: one policy, as Docker reads it and as the kernel does."""

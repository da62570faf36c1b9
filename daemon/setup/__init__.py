"""Set-up: brings the pinned CLIs, the engine and the sandbox image to a machine."""

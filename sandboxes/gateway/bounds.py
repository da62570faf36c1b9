"""What one door, and all doors together, take from a sandbox. Bytes and seconds; smaller ones are for tests."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class Bounds:
    """Whatever is beyond one of them is refused, unless it says otherwise."""

    head_bytes: int = 64 * 1024
    """Of request line and headers together."""
    head_s: float = 30.0
    """From the first byte of a head to its last."""
    idle_s: float = 600.0
    """A connection that asks nothing for so long is closed; CLIs keep theirs while a tool of the agent's runs."""
    body_bytes: int = 64 * MIB
    """Of one body, packed or not."""
    body_s: float = 60.0
    door_bytes: int = 128 * MIB
    """Of all bodies that a door holds at once."""
    all_bytes: int = 512 * MIB
    """Of the large bodies that all doors hold at once; what goes beyond waits."""
    requests: int = 16
    """Requests of one door that are read, asked and answered at a time; the others wait for their turn, unread."""
    refusals: int = 1000
    """After so many a door reads no request any more: an agent that asks for ever must not keep us busy."""

"""What a seccomp filter answers, worked out apart from the kernel: by a small interpreter of classic BPF."""

from __future__ import annotations

import struct
from collections.abc import Sequence

ALLOW = 0x7FFF0000
KILL = 0x80000000
ERROR = 0x00050000

_INSTRUCTION = struct.Struct("<HBBI")


def answer(program: bytes, machine: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the program returns for a call; raises `ValueError` where the kernel would not load it."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, machine, 0, *padded)
    code = [_INSTRUCTION.unpack_from(program, at) for at in range(0, len(program), _INSTRUCTION.size)]
    at = accumulator = 0
    while at < len(code):
        operation, if_true, if_false, value = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x54:
                accumulator &= value
            case 0x05:
                at += value
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x25:
                at += if_true if accumulator > value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x06:
                return int(value)
            case _:
                raise ValueError(f"operation {operation:#x}")
    raise ValueError("the program ends without an answer")

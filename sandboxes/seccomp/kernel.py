"""The policy as the kernel takes it: a program of classic BPF, for engines that load the filter themselves.

Pure. A program is a chain of blocks that each end in an answer or fall through; the last one refuses.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise

from sandboxes.seccomp.numbers import NUMBERS
from sandboxes.seccomp.policy import ARGUMENTS, MISSING, Masked, Rule, allowed

_INSTRUCTION = struct.Struct("<HBBI")
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""Set in the number of an x32 call: its architecture is that of the 64-bit ones."""

# Offsets in the kernel's `struct seccomp_data`, and operations.
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP, _IF_EQUAL, _IF_ABOVE, _IF_AT_LEAST = 0x05, 0x15, 0x25, 0x35

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERROR = 0x00050000

_Code = list[bytes]


def program(machine: str) -> bytes | None:
    """The filter for a machine as `uname -m` names it; None where its calls are not known."""
    if machine not in NUMBERS:
        return None
    numbers = NUMBERS[machine]
    code = [_do(_LOAD, _MACHINE), *_unless(_IF_EQUAL, _ARCHITECTURE[machine], [_do(_RETURN, _KILL)])]
    code += [_do(_LOAD, _NUMBER), *_when(_IF_AT_LEAST, _X32, [_do(_RETURN, _KILL)])]
    code += _when(_IF_ABOVE, max(numbers.values()), [_do(_RETURN, _ERROR | errno.ENOSYS)])
    for first, last in _ranges(numbers[name] for name in allowed() if name in numbers):
        within = _unless(_IF_ABOVE, last, [_do(_RETURN, _ALLOW)])
        code += _when(_IF_AT_LEAST, first, within)
    for name in sorted(MISSING.keys() & numbers.keys()):
        code += _when(_IF_EQUAL, numbers[name], [_do(_RETURN, _ERROR | MISSING[name])])
    for name in sorted(ARGUMENTS.keys() & numbers.keys()):
        code += _when(_IF_EQUAL, numbers[name], _any_of(ARGUMENTS[name]))
    return b"".join([*code, _do(_RETURN, _ERROR | errno.EPERM)])


def _any_of(rules: tuple[Rule, ...]) -> _Code:
    code: _Code = []
    for rule in rules:
        code += _all_of(rule)
    return [*code, _do(_RETURN, _ERROR | errno.EPERM)]


def _all_of(rule: tuple[Masked, ...]) -> _Code:
    """Allow where all hold, else fall through."""
    code = [_do(_RETURN, _ALLOW)]
    for each in reversed(rule):
        load = [_do(_LOAD, _FIRST_ARGUMENT + 8 * each.index), _do(_AND, each.mask)]
        code = [*load, *_when(_IF_EQUAL, each.value, code)]
    return code


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Runs of numbers that follow each other, as (first, last)."""
    ordered = sorted(numbers)
    ends = [at for at, (one, other) in enumerate(pairwise(ordered)) if other != one + 1]
    for first, last in zip([0, *(end + 1 for end in ends)], [*ends, len(ordered) - 1], strict=True):
        yield ordered[first], ordered[last]


def _do(operation: int, value: int) -> bytes:
    return _INSTRUCTION.pack(operation, 0, 0, value)


def _when(test: int, value: int, code: _Code) -> _Code:
    """Run `code` if the test holds, else jump over it."""
    return [_INSTRUCTION.pack(test, 1, 0, value), _do(_JUMP, len(code)), *code]


def _unless(test: int, value: int, code: _Code) -> _Code:
    return [_INSTRUCTION.pack(test, 0, 1, value), _do(_JUMP, len(code)), *code]

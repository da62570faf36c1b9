"""The filter's policy, and that both its shapes answer as the policy says."""

from __future__ import annotations

import errno
import json
import random
import struct
from typing import Any

import pytest

from sandboxes.seccomp.engine import profile
from sandboxes.seccomp.kernel import program
from sandboxes.seccomp.numbers import NUMBERS
from sandboxes.seccomp.policy import ARGUMENTS, MASK, MISSING, all_but, allowed, refused
from tests.support.filters import ALLOW, ERROR, KILL, answer

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
EPERM, ENOSYS = ERROR | errno.EPERM, ERROR | errno.ENOSYS
HIGH = 1 << 32

CASES: dict[str, list[tuple[tuple[int, ...], bool]]] = {
    "socket": [
        ((1, 1, 0), True),
        ((1, 5, 0), True),
        ((2, 1 | 0o2004000, 6), True),
        ((2, 2, 0), True),
        ((10, 2, 17), True),
        ((16, 3, 0), True),
        ((16 + HIGH, 3, HIGH), True),
        ((2, 3, 1), False),
        ((2, 2, 1), False),
        ((2, 1, 132), False),
        ((2, 1, 262), False),
        ((2, 5, 0), False),
        ((2, 6, 33), False),
        ((16, 3, 12), False),
        ((17, 3, 3), False),
        ((17 + HIGH, 3, 3), False),
        ((38, 5, 0), False),
        ((40, 1, 0), False),
    ],
    "socketpair": [((1, 1, 0), True), ((30, 1, 0), False)],
    "clone": [((0x11,), True), ((0x3D0F00,), True), ((0x10000000,), False), ((0x20000 | 0x11,), False)],
    "personality": [((0,), True), ((MASK,), True), ((8,), False), ((0x40000,), False)],
    "ioctl": [
        ((0, 0x5401), True),
        ((0, 0x5411), True),
        ((0, 0x5413), True),
        ((0, 0x80045430), True),
        ((0, 0x5412), False),
        ((0, 0x5412 + HIGH), False),
        ((0, 0x541C), False),
        ((0, 0x5423), False),
    ],
}


def docker_answer(name: str, arguments: tuple[int, ...]) -> int:
    """As the engine's compiler takes it: the first rule of the name whose arguments all match."""
    made = json.loads(profile())
    for rule in made["syscalls"]:
        if name in rule["names"] and all(_matches(each, arguments) for each in rule.get("args", ())):
            return ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else ERROR | rule["errnoRet"]
    assert made["defaultAction"] == "SCMP_ACT_ERRNO"
    return EPERM


def _matches(rule: dict[str, Any], arguments: tuple[int, ...]) -> bool:
    assert rule["op"] == "SCMP_CMP_MASKED_EQ"
    given = arguments[rule["index"]] if rule["index"] < len(arguments) else 0
    return bool(given & rule["value"] == rule["valueTwo"])


def filter_of(machine: str) -> bytes:
    made = program(machine)
    assert made is not None
    return made


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_every_call_is_answered_as_the_policy_says(machine: str) -> None:
    made, free = filter_of(machine), set(allowed())
    for name, number in NUMBERS[machine].items():
        if name in ARGUMENTS:
            continue
        wanted = ALLOW if name in free else ERROR | MISSING[name] if name in MISSING else EPERM
        assert answer(made, MACHINES[machine], number) == docker_answer(name, ()) == wanted, name


@pytest.mark.parametrize("machine", sorted(MACHINES))
@pytest.mark.parametrize("name", sorted(CASES))
def test_arguments_decide(machine: str, name: str) -> None:
    for arguments, free in CASES[name]:
        told = answer(filter_of(machine), MACHINES[machine], NUMBERS[machine][name], arguments)
        assert told == docker_answer(name, arguments) == (ALLOW if free else EPERM), arguments


def test_every_call_with_rules_has_cases() -> None:
    assert set(CASES) == set(ARGUMENTS)


def test_a_call_of_another_machine_ends_the_process() -> None:
    made = filter_of("x86_64")
    i386 = 0x40000003
    assert answer(made, i386, NUMBERS["x86_64"]["read"]) == KILL
    assert answer(made, MACHINES["x86_64"], 0x40000000 | NUMBERS["x86_64"]["ptrace"]) == KILL
    assert all(not row["subArchitectures"] for row in json.loads(profile())["archMap"])


def test_a_call_that_is_newer_is_as_if_the_kernel_lacked_it() -> None:
    assert answer(filter_of("x86_64"), MACHINES["x86_64"], 453) == ENOSYS
    assert answer(filter_of("x86_64"), MACHINES["x86_64"], 400) == EPERM


def test_the_kernel_would_take_the_program() -> None:
    for machine in MACHINES:
        made = filter_of(machine)
        assert len(made) % 8 == 0
        assert len(made) // 8 < 4096, "the kernel's bound"
        targets = [struct.unpack_from("<HBBI", made, at) for at in range(0, len(made), 8)]
        jumps = [at + 1 + value for at, (code, _, _, value) in enumerate(targets) if code == 0x05]
        assert all(target < len(targets) for target in jumps)


def test_a_machine_without_numbers_has_no_program() -> None:
    assert program("riscv64") is None


def test_all_but() -> None:
    forbidden = (0x5412, 0x541C, 0x5423)
    pairs = all_but(forbidden)
    chosen = random.Random(7)
    near = {value ^ (1 << bit) for value in forbidden for bit in range(32)} - set(forbidden)
    for value in [0, MASK, *near, *(chosen.getrandbits(32) for _ in range(2_000))]:
        assert sum(value & mask == wanted for mask, wanted in pairs) == 1, hex(value)
    assert not any(value & mask == wanted for value in forbidden for mask, wanted in pairs)


def test_blocks_cannot_be_reserved_faster_than_a_disk_is_watched() -> None:
    """The C library then writes them, as on a disk that cannot reserve."""
    assert answer(filter_of("x86_64"), MACHINES["x86_64"], NUMBERS["x86_64"]["fallocate"]) == ERROR | errno.EOPNOTSUPP


def test_what_docker_leaves_is_refused() -> None:
    left = {"ptrace", "process_vm_readv", "io_uring_setup", "vmsplice", "modify_ldt", "remap_file_pages", "keyctl"}
    assert left <= refused()
    assert not refused() & set(allowed())
    known = {name for table in NUMBERS.values() for name in table}
    assert refused() | MISSING.keys() | ARGUMENTS.keys() <= known, "a name that no machine has refuses nothing"
    assert {"read", "execve", "futex", "openat", "rseq", "seccomp", "landlock_restrict_self"} <= set(allowed())

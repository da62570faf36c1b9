"""The policy as a container engine takes it: JSON in `security_opt`.

The engine compiles it for its own kernel. Only the machine's native calls are let through: 32-bit calls, and x32 on
x86-64, end the process. An engine that knows newer calls answers ENOSYS to them.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from sandboxes.seccomp.policy import ARGUMENTS, MISSING, Rule, allowed


@cache
def profile() -> str:
    """The whole profile, in one line."""
    rules: list[dict[str, Any]] = [
        {"names": list(allowed()), "action": "SCMP_ACT_ALLOW"},
        *({"names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": error} for name, error in sorted(MISSING.items())),
    ]
    for name, alternatives in sorted(ARGUMENTS.items()):
        rules += [{"names": [name], "action": "SCMP_ACT_ALLOW", "args": _arguments(rule)} for rule in alternatives]
    machines = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
    architectures = [{"architecture": machine, "subArchitectures": None} for machine in machines]
    made = {"defaultAction": "SCMP_ACT_ERRNO", "archMap": architectures, "syscalls": rules}
    return json.dumps(made, separators=(",", ":"))


def _arguments(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"index": each.index, "value": each.mask, "valueTwo": each.value, "op": "SCMP_CMP_MASKED_EQ"} for each in rule
    ]

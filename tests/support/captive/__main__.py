"""Runs inside a box and tries to get out: prints a JSON object, probe to [kind, what was seen].

Kinds: `through` (the attacker got what it wanted), `refused` (with the error's name), `dead` (the probe's process was
ended, with the signal). Each probe runs in a process of its own. Arguments: a JSON object of what to try for.
"""

import json

import files
import kernel
import network
import privileges
from base import ASKED, PROBES, tried

if __name__ == "__main__":
    assert all((files, kernel, network, privileges)), "each registers its probes"
    wanted = ASKED.get("probes") or list(PROBES)
    print("CAPTIVE " + json.dumps({name: tried(name) for name in wanted}), flush=True)

"""Brings the model, runs the four trainings and prints what they show and what they do not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real_model.copier import Copier
from tests.real_model.families import FAMILIES, SIZES, Family, answers, write
from tests.real_model.long_prompt import too_long
from tests.real_model.model import HOME, bring, served

WIDTH = 220
SHOWN = ("selection", "test")
ITSELF, CONTROL = "SmolLM2 itself", "copy the failures"
CAVEAT = f"""
What these figures do not show: that the method works. A 135 M model follows examples, hardly instructions; as its own
optimizer it mostly writes replies that are cut, or edits that cannot be applied. The gate sees no step under
{1 / SIZES["selection"]:.2f} and is easily fooled by so few tasks: what it accepts may cost on the sealed test.
Each row is a single run without repeats, and the optimizer's sampling differs from run to run. The control copies
answers that a real optimizer never sees: what it gains is what plain examples are worth, and any claim for an
optimizer needs it beside it.
What they do show: the whole loop with a model that nobody scripted: noise, unusable replies dropped aloud, real token
counts, a prompt beyond the context under a name of its own, and a gate that keeps only what measured better on the
selection split.
"rejected" counts edits that the gate rejected or that would have changed nothing; "dropped" counts replies.
"""


@dataclass(frozen=True)
class Cell:
    """What one training came to."""

    result: dict[str, Any]
    steps: tuple[tuple[str, str], ...]
    """(outcome, reason) of each step."""
    dropped: int
    """Replies of the optimizer that could not be used."""
    wall_s: float


async def train(config: Path, log: Path) -> Cell:
    """Run `honed train --json` from the outside and read its result and its log."""
    started = time.monotonic()
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("honed"), "--log-json", "train", "--config", config, "--json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "REAL_MODEL_KEY": "none-needed"},
        )
        try:
            out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
    lines = out.decode().splitlines()
    result = json.loads(lines[-1]) if lines else {"error": {"message": f"exit {process.returncode}: see {log}"}}
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{")]
    return Cell(
        result=result,
        steps=tuple((event["outcome"], event["reason"]) for event in events if event["event"] == "StepDecided"),
        dropped=sum(event["event"] == "optimizer reply dropped" for event in events),
        wall_s=time.monotonic() - started,
    )


async def cell(family: Family, proposer: str, address: str, folder: Path) -> Cell:
    """One training: a family with one proposer."""
    log = HOME / f"{family.name}-{proposer.replace(' ', '-').lower()}.log"
    if proposer == CONTROL:
        async with Copier(answers(family)) as copier:
            return await train(write(family, folder, target=address, optimizer=copier), log)
    return await train(write(family, folder, target=address, optimizer=address), log)


def row(family: str, proposer: str, done: Cell) -> str:
    """The table's line, and below it why each step ended as it did."""
    score, edits = done.result["score"], done.result["edits"]
    arrows = [" -> ".join(map(_figure, (score[split]["before"], score[split]["after"]))) for split in SHOWN]
    counts = f"{edits['proposed']:>8} {edits['accepted']:>8} {edits['rejected']:>8} {done.dropped:>7}"
    head = f"{family:<10} {proposer:<18} {arrows[0]:<14} {arrows[1]:<14} {counts} {done.wall_s:>5.0f} s"
    steps = [f"    {outcome.replace('_', ' ')}: {reason}"[:WIDTH] for outcome, reason in done.steps]
    return "\n".join([head, *steps])


def _figure(score: float | None) -> str:
    return "none" if score is None else f"{score:.2f}"


def _gained(result: dict[str, Any]) -> str:
    """What the accepted edits put into the skill."""
    words = ("git", "diff", "--unified=0", "--no-color", f"{result['commits'][0]}~1", result["commits"][-1], "--")
    diff = subprocess.run(words, cwd=result["repository"], capture_output=True, text=True, check=True).stdout
    return "\n".join(f"    {line}" for line in diff.splitlines() if line[:1] == "+" and line[:3] != "+++")


async def run(address: str) -> bool:
    """All four trainings and the long prompt; True if each ended as it should."""
    outcome = await too_long(address)
    print(f"a prompt beyond the model's context ends as: {outcome}", flush=True)
    good = outcome == "agent_context"
    head = f"{'proposed':>8} {'accepted':>8} {'rejected':>8} {'dropped':>7}"
    print(f"\n{'family':<10} {'proposer':<18} {'selection':<14} {'test':<14} {head}   wall", flush=True)
    for family in FAMILIES:
        for proposer in (ITSELF, CONTROL):
            with tempfile.TemporaryDirectory(prefix="honed-real-model-") as folder:
                done = await cell(family, proposer, address, Path(folder))
                if "error" in done.result:
                    good = False
                    print(f"{family.name:<10} {proposer:<18} failed: {done.result['error']['message']}", flush=True)
                    continue
                print(row(family.name, proposer, done), flush=True)
                if done.result["commits"]:
                    print(_gained(done.result), flush=True)
    print(CAVEAT)
    return good


def main() -> int:
    """Entry point."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with served(*bring()) as address:
        return 0 if asyncio.run(run(address)) else 1


if __name__ == "__main__":
    raise SystemExit(main())

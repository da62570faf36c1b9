"""Rewards that are none: whatever stands where the reward should, nothing but a number from 0 to 1 is a score.

These are the files alone, read back as a verifier's box is; `verification_script` has the same with real boxes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from daemon.tasks.scorers.reward import read_reward
from daemon.tasks.scorers.scorer import VerifierError
from sandboxes.collect import collect
from sandboxes.sandbox import Limits
from tests.hostile.attack import Area, Attack, Attempted, BrokenError, Stage, add

Lay = Callable[[Path], object]


def _text(name: str, data: bytes | str) -> Lay:
    return lambda folder: (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def _linked(folder: Path) -> None:
    (folder.parent / "elsewhere").write_text("1")
    (folder / "reward.txt").symlink_to("../elsewhere")


def _huge(folder: Path) -> None:
    with (folder / "reward.txt").open("wb") as file:
        file.write(b"1")
        file.truncate(100 * 1024 * 1024)


def _both(folder: Path) -> None:
    (folder / "reward.txt").write_text("1")
    (folder / "reward.json").write_text("{")


def _folder(folder: Path) -> None:
    (folder / "reward.json").mkdir()
    (folder / "reward.json" / "reward").write_text("1")


def _other_case(folder: Path) -> None:
    for name in ("Reward.txt", "REWARD.JSON", "reward.txt ", "reward.txt.", "reward\u200b.txt", "reward.tx\u0442"):
        (folder / name).write_text("1")


_ROWS: dict[str, tuple[str, Lay]] = {
    "nan": ("NaN", _text("reward.txt", "NaN")),
    "infinity": ("Infinity, in JSON", _text("reward.json", '{"reward": Infinity}')),
    "overflow": ("1e999", _text("reward.json", '{"reward": 1e999}')),
    "more-than-one": ("2.0", _text("reward.txt", "2.0")),
    "a-hair-over-one": ("1.0000000000000002", _text("reward.txt", "1.0000000000000002")),
    "negative": ("-1", _text("reward.txt", "-1")),
    "a-word": ('"1" as text', _text("reward.json", '{"reward": "1"}')),
    "true": ("true", _text("reward.json", "true")),
    "null": ("null", _text("reward.json", '{"reward": null}')),
    "empty": ("an empty file", _text("reward.txt", "")),
    "huge": ("a file of 100 MB that begins with 1", _huge),
    "binary": ("bytes that are no text", _text("reward.txt", b"1\xff\x00")),
    "many-lines": ("0 and 1 on lines of their own", _text("reward.txt", "0\n1\n")),
    "double-keys": ("a key twice, 0 and then 1", _text("reward.json", '{"reward": 0, "reward": 1}')),
    "many-names": ("two rewards, none called so", _text("reward.json", json.dumps({"a": 1, "b": 1}))),
    "other-digits": ("a one in Arabic digits", _text("reward.txt", "\u0661")),
    "expression": ("0x1, 1/1 and 1_0", _text("reward.txt", "1/1")),
    "deep": ("JSON a hundred thousand deep", _text("reward.json", "[" * 100_000)),
    "a-link": ("a link to a file that holds 1", _linked),
    "a-fifo": ("a fifo", lambda folder: os.mkfifo(folder / "reward.txt")),
    "a-folder": ("a folder with a reward in it", _folder),
    "disagreement": ("reward.txt says 1, reward.json is broken", _both),
    "look-alike-names": ("names that look like reward.txt", _other_case),
    "none": ("nothing at all", lambda folder: None),
}


def _forged(lay: Lay) -> Attempted:
    async def forged(stage: Stage) -> str:
        out = stage.folder / "out"
        out.mkdir()
        lay(out)
        try:
            reward = read_reward(collect(out, Limits()))
        except VerifierError as error:
            return f"no score: {error}"
        raise BrokenError(f"scored {reward.value} from {reward.source}")

    return forged


for _name, (_what, _lay) in _ROWS.items():
    add(
        Attack(
            Area.VERIFICATION, f"reward-{_name}", f"a reward of {_what}", "no score", _forged(_lay), needs_engine=False
        )
    )

"""Files that people and agents write: configuration, task sets, rewards, sessions; and the optimizer's replies."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from daemon.config import ConfigError, load_config
from daemon.config_template import render_default
from daemon.inbox.reading import NoSessionError, read_session_file
from daemon.optimizer.replies import ReflectReply, RewriteReply
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.load import read_set
from daemon.tasks.manifest import make_manifest, read_manifest
from daemon.tasks.scorers.reward import failed_checks, read_reward
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import TaskError
from harnesses.models.client import ModelReply
from harnesses.models.structured import parse
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected
from tests.fuzz.target import Target, target
from tests.fuzz.targets.traces import SESSIONS
from tests.support.hostile import GOOD
from tests.support.tasks import GOLDEN

_SHM = Path("/dev/shm")
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-", dir=_SHM if os.access(_SHM, os.W_OK) else None)
_AT = Path(_FOLDER.name)


def _written(name: str, data: bytes) -> Path:
    file = _AT / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def _one_line(error: Exception) -> None:
    """An error for a person: one line that can be printed."""
    said = str(error)
    said.encode("utf-8", "surrogateescape")
    assert said.strip()
    assert "\n" not in said, said


def _config(data: bytes) -> None:
    file = _written("honed.toml", data)
    try:
        load_config(file)
    except ConfigError as error:
        _one_line(error)
        raise


def _configs() -> Sequence[bytes]:
    made = render_default(skill_path="skills/x", tasks_path="t.jsonl", target_model="m", optimizer_model="m")
    extra = '\n[budget.run]\nusd = 5\n[daemon]\nlisten = "127.0.0.1:9"\n[inbox]\nevidence = "off"\n'
    return [made.encode(), made.replace("# ", "").encode(), (made + extra).encode()]


def _set(name: str, data: bytes) -> None:
    read = read_set(_written(name, data))
    for fault in read.faults:
        _one_line(fault)
    for place in range(min(len(read.columns), 20)):
        task = read.task(place)
        task.prompt.encode()
        assert math.isfinite(task.weight)


def _rows() -> Sequence[bytes]:
    for name in ("policy.md", "gold.csv", "test.sh"):
        _written(name, b"x\n")
    whole = (GOLDEN / "qa" / "tasks.jsonl").read_bytes()
    row = {
        "id": "a-1", "split": "train", "prompt": "p", "files": {"in.md": "policy.md"}, "tests": ["gold.csv", "test.sh"],
        "answer": ["x", 1], "scorer": {"name": "numeric", "tolerance": 0.1}, "weight": 2, "tools": {"name": "files"},
        "solution": {"solve.sh": "test.sh"}, "timeout_s": 5, "network": "allowed", "protect": True, "group": "g",
    }  # fmt: skip
    checks = {"name": "json_checks", "checks": [{"path": "$.a[0]", "equals": 1}]}
    pattern = {"id": 7, "prompt": "q", "scorer": {"name": "regex", "all": ["^a+$"]}}
    return [
        whole,
        json.dumps(row).encode(),
        json.dumps({**row, "scorer": checks}).encode(),
        json.dumps(pattern).encode(),
    ]


def _tables() -> Sequence[bytes]:
    return [
        b'question,ground_truth,split,weight\nWhat is 1+1?,2,train,1\n"two\nlines","a, ""b""",test,0.5\n',
        b"id\tquestion\tanswer\n1\tq\ta\n",
        b"\xef\xbb\xbfquestion;answer\r\nq;a\r\n",
    ]


def _evals() -> Sequence[bytes]:
    rows = [{"id": 1, "prompt": "p", "expected_output": "o", "files": ["policy.md"], "expectations": ["is x"]}]
    return [json.dumps({"skill_name": "x", "evals": rows}).encode(), json.dumps(rows).encode()]


def _toml(data: bytes) -> None:
    _written("harbor/one/task.toml", data)
    _written("harbor/one/instruction.md", b"Do it.\n")
    _written("harbor/one/tests/test.sh", b"echo 1\n")
    for found in scan_harbor(_AT / "harbor"):
        if found.error is not None:
            _one_line(found.error)


def _tomls() -> Sequence[bytes]:
    return [path.read_bytes() for path in sorted((GOLDEN).glob("harbor*/*/task.toml"))]


def _manifest(data: bytes) -> None:
    read_manifest(_written("splits.json", data))


def _reward(name: str, data: bytes) -> None:
    reward = read_reward(Collected({name: data}))
    assert 0.0 <= reward.value <= 1.0


def _rewards(data: bytes) -> None:
    failed_checks(Collected({"ctrf.json": data}))
    try:
        _reward("reward.txt", data)
    except VerifierError as error:
        _one_line(error)
    _reward("reward.json", data)


def _session(data: bytes) -> None:
    record = read_session_file(_written("session.jsonl", data), 2_000_000_000.0)
    json.dumps([record.asked, record.source, record.folder, record.model]).encode()


def _sessions() -> Sequence[bytes]:
    return [path.read_bytes()[: 24 * 1024] for path in sorted(SESSIONS.glob("*.jsonl"))]


def _reply(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for schema in (ReflectReply, RewriteReply):
        for stop in ("end", "length"):
            try:
                parse(ModelReply(text, Usage(), stop, "m"), schema)
            except ValueError as error:
                str(error).encode()
                if stop == "length" and schema is RewriteReply:
                    raise


def _replies() -> Sequence[bytes]:
    plain = [json.dumps(GOOD[role]) for role in ("reflect_failures", "rewrite_failures", "rewrite")]
    return [text.encode() for text in (*plain, f"Here:\n```json\n{plain[0]}\n```", f"<think>{{</think>{plain[1]}")]


def _of(name: str) -> Callable[[bytes], None]:
    return partial(_set, name)


target(Target("config", "honed.toml", _configs, _config, (ConfigError,), (b"[train]\n", b"= ", b'"""', b"1979-05-27")))
target(Target("tasks-jsonl", "tasks.jsonl", _rows, _of("tasks.jsonl"), (TaskError,), (b'"id": ', b"policy.md")))
target(Target("tasks-csv", "a table of tasks", _tables, _of("tasks.csv"), (TaskError,), (b'""', b";", b"question")))
target(Target("tasks-evals", "evals.json", _evals, _of("evals.json"), (TaskError,)))
target(Target("tasks-harbor", "task.toml of a Harbor task", _tomls, _toml, (TaskError,), (b"[[steps]]\n", b"= {")))
target(
    Target(
        "tasks-manifest",
        "a split's manifest",
        lambda: [make_manifest({"a": "train", "b": "selection", "c": "test"}).model_dump_json().encode()],
        _manifest,
        (TaskError,),
    )
)
target(
    Target(
        "reward",
        "the reward that a test script wrote",
        lambda: [b"1", b"0.5\n", b'{"reward": 1, "time": 3}', b'{"results": {"summary": {"tests": 3, "failed": 1}}}'],
        _rewards,
        (VerifierError,),
    )
)
target(Target("inbox-session", "a person's session, taken in", _sessions, _session, (NoSessionError,)))
target(Target("optimizer-reply", "what the optimizer answers", _replies, _reply, (ValueError,), (b"```", b"<think>")))

"""The real engine, image and CLIs for integration tests, or a skip that says what is missing.

`HONED_TEST_CLIS` (folder with `node_modules`) and `HONED_TEST_IMAGE` override where they are looked for.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from daemon.setup.clis import agents_folder
from daemon.setup.home import honed_home
from harnesses.clis import CliBinary, CliError, CliName, find_cli
from harnesses.harness import RenderedSkill
from sandboxes.gateway.policy import Caps, DoorPolicy, Provider, Upstream

REAL_KEY = "sk-real-5f0c1d-never-in-a-box"
VERSIONS: dict[CliName, str] = {"codex": "0.171.0", "claude": "2.1.332"}
MODELS: dict[Provider, str] = {"openai": "gpt-5.5", "anthropic": "claude-opus-5-5"}
SKILL = RenderedSkill(
    name="line-counter",
    digest="sha256:test",
    files={
        "SKILL.md": (
            b"---\nname: line-counter\ndescription: LISTED_MARK Use when lines of a file are to be counted.\n---\n\n"
            b"# Line counter\nBODY_MARK_4471: count with wc and write the number to answer.txt.\n"
        ),
        "scripts/count.sh": b"#!/bin/sh\nwc -l < in.csv\n",
    },
)


def installed(name: CliName) -> CliBinary:
    """A pinned CLI, or a skip."""
    root = os.environ.get("HONED_TEST_CLIS")
    try:
        return find_cli(Path(root) if root else agents_folder(honed_home()), name, version=VERSIONS[name])
    except CliError as error:
        pytest.skip(str(error))


def door_policy(provider: Provider, base_url: str, *, caps: Caps | None = None, tries: int = 1) -> DoorPolicy:
    """A policy with a key that must never be seen inside."""
    upstream = Upstream(
        provider, base_url, SecretStr(REAL_KEY), key_name="TEST_KEY", timeout_s=30.0, retry_s=1.0, tries=tries
    )
    return DoorPolicy(upstream, MODELS[provider], caps=caps or Caps())

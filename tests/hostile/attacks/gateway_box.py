"""The door from inside a real Docker box: what an agent that left its CLI behind can do with it."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.docker import DockerSandbox
from sandboxes.gateway.gateway import Door
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.sandbox import BoxSpec, Command
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.support.gateway import KEY, policy
from tests.support.sandboxes import PATH, docker_image
from tests.support.upstream import Upstream

PROBE = (Path(__file__).parents[2] / "support" / "door_probe.py").read_bytes()


@dataclass(frozen=True)
class Doors:
    """The box's own door and another attempt's, at one provider."""

    provider: Upstream
    mine: Door
    other: Door


async def doors(stage: Stage) -> Doors:
    provider = await stage.stack.enter_async_context(Upstream())
    gateway = ModelGateway(stage.folder / "s")
    stage.stack.push_async_callback(gateway.close)
    where = policy("responses", provider.base_url("openai"))
    return Doors(provider, await gateway.open("mine", where), await gateway.open("other", where))


async def inside(stage: Stage, here: Doors, told: dict[str, Any]) -> Any:
    """What the probe reports from a box behind the first door."""
    image = await asyncio.to_thread(docker_image)
    sandbox = DockerSandbox(image, owner=stage.owner)
    spec = BoxSpec("a-1", stage.folder / "box", time.time() + 3_600, gateway_socket=here.mine.socket)
    async with sandbox.open(spec) as box:
        await box.write({"probe.py": PROBE, "told.json": json.dumps(told).encode()})
        layout = box.layout
        assert layout.gateway_socket is not None
        argv = ("python3", f"{layout.workspace}/probe.py")
        env = {"PATH": PATH, "DOOR": layout.gateway_socket, "TOKEN": here.mine.token}
        ended = await box.run(Command(argv, env, deadline_s=120))
        text = ended.stdout.read_text()
    return json.loads(text) if text else holds(False, f"{ended.ending}: {ended.stderr.read_text()[-300:]}")


async def report(stage: Stage) -> tuple[Doors, dict[str, Any]]:
    here = await doors(stage)
    port = here.provider.base_url("anthropic").rpartition(":")[2]
    told = {
        "tokens": [here.other.token, KEY],
        "words": [KEY, "HONED_TEST_KEY", here.other.token, here.provider.base_url("anthropic")],
        "addresses": [["127.0.0.1", int(port)], ["172.17.0.1", int(port)], ["169.254.169.254", 80], ["1.1.1.1", 443]],
    }
    return here, await inside(stage, here, told)


def other_token(_: Doors, seen: dict[str, Any]) -> tuple[bool, str]:
    return seen["right"] == 200 and seen["other_tokens"] == [401, 401], f"answers {seen['other_tokens']}"


def other_socket(_: Doors, seen: dict[str, Any]) -> tuple[bool, str]:
    listed = seen["sockets"]
    return len(listed) <= 1 and seen["right"] == 200, f"sockets that can be listed: {', '.join(listed) or 'none'}"


def tampered(_: Doors, seen: dict[str, Any]) -> tuple[bool, str]:
    return not seen["tampered"] and seen["after"] == 200, f"done: {seen['tampered']}; afterwards {seen['after']}"


def hunted(_: Doors, seen: dict[str, Any]) -> tuple[bool, str]:
    found = [place for places in seen["hunted"] for place in places] + seen["answered"]
    return not found, f"found in: {found}"


def reached(_: Doors, seen: dict[str, Any]) -> tuple[bool, str]:
    return "reached" not in seen["reached"], ", ".join(seen["reached"])


ROWS = {
    "box-uses-another-key": ("uses another attempt's key, and the real one, from a box", "401", other_token),
    "box-finds-another-door": ("looks for another attempt's socket from a box", "its own alone", other_socket),
    "box-tampers-with-the-door": ("removes, renames and replaces its socket", "nothing done, door serves", tampered),
    "box-hunts-for-the-key": (
        "searches /proc, files and answers for the real key, its name, other keys and the provider",
        "nowhere",
        hunted,
    ),
    "box-goes-around-the-door": ("connects to the provider and to the network by itself", "no way", reached),
}


def tried(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        return holds(*ROWS[name][2](*await report(stage)))

    return run


for each, row in ROWS.items():
    add(Attack(Area.GATEWAY, each, row[0], row[1], tried(each), True))


@attack(
    Area.GATEWAY,
    "goes on asking from a box whose attempt's door is closed",
    expected="answered before, never after; nothing at the provider",
    needs_engine=True,
)
async def box_asks_after_the_end(stage: Stage) -> str:
    here = await doors(stage)
    running = asyncio.create_task(inside(stage, here, {"until_refused": True}))
    async with asyncio.timeout(120):
        while len(here.provider.requests) < 3 and not running.done():
            await asyncio.sleep(0.02)
        await here.mine.close()
        sent = len(here.provider.requests)
        told = await running
    late = [each for each in told if each != 200]
    seen = (
        f"{told.count(200)} answered, then {', '.join(map(str, late))}; {len(here.provider.requests) - sent} sent late"
    )
    return holds(told.count(200) >= 2 and 200 not in told[-3:] and len(here.provider.requests) == sent, seen)

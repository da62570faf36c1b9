"""Keys of models: where they come from, and all the places where none of them may be seen."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from daemon.config import ConfigError, OptimizerSection, load_config
from daemon.redaction import redact, redact_value
from daemon.secrets import read_key, renewal
from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.factory import make_client
from harnesses.models.retry import Patience
from sandboxes.gateway.policy import DoorPolicy, ProviderError, Upstream
from tests.hostile.attack import Area, Stage, attack, holds
from tests.support.gateway import Sleeps, target
from tests.support.upstream import Upstream as Provider
from tests.support.wire import Step

PASTED = "sk-pasted-0123456789abcdef"


def section(**values: object) -> OptimizerSection:
    return OptimizerSection.model_validate({"model": "m", **values})


def program(folder: Path, script: str, *arguments: str) -> tuple[str, ...]:
    path = folder / f"program-{len(list(folder.iterdir()))}"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (str(path), *arguments)


async def refused(**values: object) -> str:
    """Why such a key is refused; empty if it is not."""
    try:
        await asyncio.to_thread(read_key, section(**values))
    except ConfigError as error:
        return str(error)
    return ""


@attack(
    Area.HANDLING,
    "reads the file with the key as another user, or through a group",
    expected="honed refuses such a file, with the chmod to run",
)
async def key_file_read_by_others(stage: Stage) -> str:
    path = stage.folder / "key"
    path.write_text(PASTED)
    said = []
    for mode in (0o644, 0o640, 0o604, 0o660, 0o666, 0o601):
        path.chmod(mode)
        said.append(await refused(api_key_file=path))
    path.chmod(0o600)
    told = all(f"run `chmod 600 {path}`" in each and PASTED not in each for each in said)
    return holds(told and not await refused(api_key_file=path), f"{len(said)} modes refused: …{said[0][-40:]}")


@attack(
    Area.HANDLING,
    "puts a pipe, a device, a folder and a flood in the place of the key's file",
    expected="refused at once, nothing shown",
)
async def key_file_that_is_none(stage: Stage) -> str:
    os.mkfifo(stage.folder / "pipe", 0o600)
    flood = stage.folder / "flood"
    flood.write_text(PASTED * 10_000)
    flood.chmod(0o600)
    (stage.folder / "device").symlink_to("/dev/zero")
    async with asyncio.timeout(30):
        said = [await refused(api_key_file=stage.folder / name) for name in ("pipe", "device", ".", "flood", "none")]
    return holds(all(said) and PASTED not in str(said), f"{len(said)} refused")


@attack(
    Area.HANDLING,
    "writes shell into the command for the key",
    expected="passed on as an argument, nothing of it run",
)
async def key_command_with_shell(stage: Stage) -> str:
    marker = stage.folder / "ran"
    command = program(
        stage.folder, "echo k-safe-12345678", f"; touch {marker}", f"$(touch {marker})", f"| touch {marker}"
    )
    _, key = await asyncio.to_thread(read_key, section(api_key_command=command))
    return holds(
        key.get_secret_value() == "k-safe-12345678" and not marker.exists(), f"marker there: {marker.exists()}"
    )


@attack(
    Area.HANDLING,
    "makes the key's command fail, hang on a question, talk and flood",
    expected="one line that names the command; nothing of what it printed",
)
async def key_command_that_fails(stage: Stage) -> str:
    scripts = (
        f"echo {PASTED}; exit 3",
        f"read answer; echo {PASTED} $answer with more words",
        f"while :; do echo {PASTED}; done | head -c 300000",
        f"printf '{PASTED}\\033[2Jx'",
        "kill -9 $$",
    )
    said = [await refused(api_key_command=program(stage.folder, script, PASTED)) for script in scripts]
    return holds(all(said) and PASTED not in str(said), f"{len(said)} refused, as: {said[0].rpartition(': ')[0]}")


@attack(
    Area.HANDLING,
    "reads honed's other keys from the environment of the key's command",
    expected="they are not in it",
)
async def key_command_that_spies(stage: Stage) -> str:
    seen = stage.folder / "env"
    before = os.environ.get("ANTHROPIC_API_KEY")
    os.environ["ANTHROPIC_API_KEY"] = PASTED
    try:
        command = program(stage.folder, f"cat /proc/self/environ > {seen}; echo k-spied-12345678")
        await asyncio.to_thread(read_key, section(api_key_command=command))
    finally:
        os.environ.pop("ANTHROPIC_API_KEY") if before is None else os.environ.__setitem__("ANTHROPIC_API_KEY", before)
    return holds(PASTED.encode() not in seen.read_bytes(), f"{len(seen.read_bytes())} bytes of environment, without it")


@attack(
    Area.HANDLING,
    "pastes the key into honed.toml, where a place for it is meant",
    expected="an error that names the key of the file, not what was pasted",
)
async def key_pasted_into_the_file(stage: Stage) -> str:
    lines = (
        f'api_key_env = "{PASTED}"',
        f'api_key_file = ["{PASTED}"]',
        f'api_key_command = "{PASTED}"',
        f'api_key_command = ["x", {{ a = "{PASTED}" }}]',
        f'base_url = "https://u:{PASTED}@host/v1"',
    )
    said = []
    for line in lines:
        file = stage.folder / "honed.toml"
        file.write_text(
            f'[skill]\npath="s"\n[tasks]\npath="t"\n[target]\nharness="chat"\nmodel="m"\n[optimizer]\nmodel="m"\n{line}\n'
        )
        try:
            load_config(file)
        except ConfigError as error:
            said.append(str(error))
    seen = f"{len(said)} of {len(lines)} refused, {sum(PASTED in each for each in said)} with the key"
    return holds(len(said) == len(lines) and PASTED not in str(said), seen)


@attack(
    Area.HANDLING,
    "prints the objects that hold a key: as text, in a log line, in an exception",
    expected="masked in each",
)
async def key_in_objects(stage: Stage) -> str:
    path = stage.folder / "key"
    path.write_text(PASTED)
    path.chmod(0o600)
    chosen = section(api_key_file=path)
    _, key = await asyncio.to_thread(read_key, chosen)
    upstream = Upstream("openai", "https://h/v1", key, "x", renewal=renewal(chosen))
    policy = DoorPolicy(upstream, "m")
    texts = [repr(upstream), str(policy), f"{chosen}", repr(vars(upstream)), chosen.model_dump_json(), repr(key)]
    logged = json.dumps(redact_value({"event": f"failed with {PASTED}", "deep": [{"a": PASTED}]}))
    leaks = sum(PASTED in text for text in (*texts, logged, redact(f"RuntimeError: {PASTED}")))
    return holds(not leaks, f"{len(texts) + 2} texts, {leaks} with the key")


@attack(
    Area.HANDLING,
    "has a model client refused with answers that repeat the key, before and after it was got anew",
    expected="both keys masked in the error, command asked once more",
    needs_engine=True,
)
async def key_in_client_errors(stage: Stage) -> str:
    command = program(stage.folder, 'echo x >> "$1"; echo "k-anew-$(wc -l < "$1")-abcdef"', str(stage.folder / "count"))
    chosen = section(api_key_command=command)
    _, key = await asyncio.to_thread(read_key, chosen)
    provider = await stage.stack.enter_async_context(
        Provider([lambda seen: Step(status=401, body={"error": {"message": str(seen.headers)}})])
    )
    start = target("openai", provider.base_url("openai"))
    upstream = replace(start, api_key=key, renewal=renewal(chosen))
    client = make_client(upstream, "m", patience=Patience(sleep=Sleeps(), rng=random.Random(1)))
    stage.stack.push_async_callback(client.close)
    try:
        await client.complete(ModelRequest("", (ChatMessage("user", "hi"),)))
        said = "answered"
    except ProviderError as error:
        said = "".join(map(str, (error, error.args, error.__cause__, error.__context__)))
    sent = [request.headers["authorization"][-15:] for request in provider.requests]
    leaks = [word for word in ("k-anew-1-abcdef", "k-anew-2-abcdef") if word in said]
    held = sent == ["k-anew-1-abcdef", "k-anew-2-abcdef"] and not leaks and "401" in said
    return holds(held, f"{len(sent)} requests with two keys, {len(leaks)} in: {said[:80]}")


async def ran(argv: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> tuple[str, int | None]:
    """What a process printed, both streams, and how it ended."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(120):
        out, _ = await process.communicate()
    return out.decode(errors="replace"), process.returncode


CRASH = """
import asyncio, logging, threading, structlog
from pydantic import SecretStr
from daemon import logs
from daemon.cli.crashes import guard_crashes
from daemon.redaction import register_secret
import sys
key = sys.stdin.read() or open(sys.argv[1]).read()
register_secret(SecretStr(key))
logs.configure(json_lines=sys.argv[2] == "json", verbose=True)
guard_crashes()
def fail():
    local = {"api_key": key, "headers": {"authorization": "Bearer " + key}}
    raise RuntimeError(f"refused {local}") from ValueError(key)
try:
    fail()
except RuntimeError:
    structlog.get_logger("daemon.x").exception("failed", key=key, deep={"a": [key]})
    logging.getLogger("aiohttp").exception("failed with %s", key)
    logging.getLogger("daemon.y").error("failed", extra={"key": key}, stack_info=True)
thread = threading.Thread(target=fail)
thread.start()
thread.join()
async def task():
    asyncio.get_running_loop().call_exception_handler({"message": key, "exception": ValueError(key)})
asyncio.run(task())
fail()
"""


@attack(
    Area.HANDLING,
    "crashes honed with the key in locals, messages, log fields, threads and tasks",
    expected="tracebacks without it; no core file",
    needs_engine=True,
)
async def key_in_crashes(stage: Stage) -> str:
    path = stage.folder / "key"
    path.write_text("k-crashed-9876543210")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])}
    texts = []
    for kind in ("json", "text"):
        out, code = await ran((sys.executable, "-c", CRASH, str(path), kind), env, stage.folder)
        texts.append(out)
        holds(code == 1 and out.count("Traceback") >= 4, f"exit code {code}, {out.count('Traceback')} tracebacks")
    leaks = sum(text.count("k-crashed-9876543210") for text in texts)
    cores = [path.name for path in stage.folder.iterdir() if path.name.startswith("core")]
    return holds(
        not leaks and not cores, f"{sum(t.count('Traceback') for t in texts)} tracebacks, {leaks} with the key"
    )


SPY = '#!/bin/sh\ntr "\\\\0" "\\\\n" < /proc/$$/environ >> "{log}"\necho "$0 $*" >> "{log}"\nexec "{real}" "$@"\n'
WATCHED = ("git", "docker", "dockerd", "bwrap", "unshare", "openssl", "gh", "ssh", "systemctl", "socat")


@attack(
    Area.HANDLING,
    "watches the arguments and environments of all programs that `honed doctor` starts, and what it prints",
    expected="the key in none of them",
    needs_engine=True,
)
async def key_in_children(stage: Stage) -> str:
    log, programs = stage.folder / "log", stage.folder / "bin"
    programs.mkdir()
    for name in WATCHED:
        if real := shutil.which(name):
            (programs / name).write_text(SPY.format(log=log, real=real))
            (programs / name).chmod(0o755)
    key = stage.folder / "key"
    key.write_text("k-filed-9876543210")
    key.chmod(0o600)
    (stage.folder / "honed.toml").write_text(
        '[skill]\npath="s"\n[tasks]\npath="t"\n[target]\nharness="codex"\nmodel="m"\napi_key_env="MY_KEY"\n'
        '[optimizer]\nmodel="m"\napi_key_file="key"\n[judge]\nmodel="m"\n'
        'api_key_command=["echo", "k-echoed-9876543210"]\n'
    )
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HONED_HOME": str(stage.folder / "home")}
    env |= {"MY_KEY": "k-listed-9876543210", "PYTHONPATH": str(Path(__file__).parents[3])}
    await ran(("git", "init", "-q", str(stage.folder)), os.environ, stage.folder)
    printed = ""
    for arguments in (("doctor",), ("-v", "doctor", "--json"), ("--log-json", "-v", "status", "--json")):
        command = "import sys; from daemon.cli.app import main; sys.argv[0] = 'honed'; main()"
        out, _ = await ran((sys.executable, "-c", command, *arguments), env, stage.folder)
        printed += out
    watched = log.read_text(errors="replace") if log.exists() else ""
    words = ("k-listed-9876543210", "k-filed-9876543210", "k-echoed-9876543210")
    leaks = [word[:8] for word in words if word in watched.replace(f"echo {word}", "") or word in printed]
    started = sum(line.startswith(str(programs)) for line in watched.splitlines())
    return holds(
        started and "MY_KEY" in printed and not leaks, f"{started} programs started, keys seen: {leaks or 'none'}"
    )

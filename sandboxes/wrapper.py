"""The argument list that really runs inside a box: an exact environment, and the loopback forwarder where asked for.

The command replaces the wrapper (`exec`), so that its exit code and signals are its own; the forwarder is orphaned
first, so that it is not the command's child and dies with the box.
"""

from __future__ import annotations

from pathlib import Path

from sandboxes.sandbox import Command, Layout, SandboxError

FORWARD_PORT = 18080
FORWARD_SCRIPT = Path(__file__).with_name("forward.py")
"""Runs where the box has no socat."""
FORWARD_FILE = "forward.py"
"""Its copy in the attempt's folder, shown inside as `FORWARD_TARGET`: an engine may see other files than this process,
where that runs in a container, but the attempt's folder it must see."""
FORWARD_TARGET = "/run/forward.py"
FORWARD_FAILED = 125
"""Exit code of the wrapper, together with `FORWARD_COMPLAINT` as the first words on stderr."""
FORWARD_COMPLAINT = b"honed: the forwarder did not start"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""What the wrapper itself searches; the command gets nothing but its own environment."""

# $1 socket, $2 port, $3 the port as /proc/net/tcp writes it, $4 forward.py; the rest is the command.
_FORWARD = r"""
socket=$1 port=$2 hex=$3 script=$4; shift 4
if command -v socat >/dev/null 2>&1; then
  listen=TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr,backlog=64
  (socat "$listen" "UNIX-CONNECT:$socket" </dev/null >/dev/null 2>&1 &)
elif command -v python3 >/dev/null 2>&1; then
  (python3 -I "$script" "$port" "$socket" </dev/null >/dev/null 2>&1 &)
else
  echo "honed: the forwarder did not start: the image has neither socat nor python3" >&2; exit 125
fi
listens() {
  while read -r _ local _ state _; do
    [ "$local $state" = "0100007F:$hex 0A" ] && return 0
  done </proc/net/tcp
  return 1
}
tries=0
until listens; do
  tries=$((tries + 1))
  if [ "$tries" -gt 1000 ]; then echo "honed: the forwarder did not start: nothing listens on $port" >&2; exit 125; fi
  sleep 0.01
done
exec "$@"
"""


def inner_argv(command: Command, layout: Layout) -> tuple[str, ...]:
    """What the engine starts. Raises `SandboxError` for an argument list or environment that cannot be passed on."""
    exact = ("/usr/bin/env", "-i", *_assignments(command), *_checked_argv(command))
    if not command.forward:
        return exact
    if layout.gateway_socket is None:
        message = "Command.forward needs a box with a gateway socket (BoxSpec.gateway_socket)"
        raise SandboxError(message)
    port = f"{FORWARD_PORT:04X}"
    return (
        "/bin/sh", "-c", _FORWARD, "sh", layout.gateway_socket, str(FORWARD_PORT), port, FORWARD_TARGET, *exact,
    )  # fmt: skip


def forwarder_failed(exit_code: int | None, stderr: Path) -> str:
    """The wrapper's complaint if the forwarder was what failed, else nothing."""
    if exit_code != FORWARD_FAILED:
        return ""
    with stderr.open("rb") as file:
        head = file.read(300)
    return head.decode("utf-8", "replace").strip() if head.startswith(FORWARD_COMPLAINT) else ""


def checked_env(command: Command) -> dict[str, str]:
    """The environment, sorted by name; raises `SandboxError` for a name or value that the system cannot take."""
    for name, value in command.env.items():
        if not name or "=" in name or "\0" in name + value or name.startswith("-"):
            message = f"bad environment variable {name!r}: no '=', NUL or leading '-' in a name, no NUL in a value"
            raise SandboxError(message)
    return dict(sorted(command.env.items()))


def _assignments(command: Command) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in checked_env(command).items())


def _checked_argv(command: Command) -> tuple[str, ...]:
    argv = command.argv
    if not argv or not argv[0] or "=" in argv[0] or argv[0].startswith("-") or any("\0" in word for word in argv):
        message = f"bad command {argv[:1]!r}: it needs a program without '=' or leading '-', and no NUL"
        raise SandboxError(message)
    return argv

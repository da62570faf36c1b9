"""API keys: out of the environment, a file or a command, and only there. A key's value is never part of a message.

Invariants: a file that others may read is refused; a command is run as a list, without a shell, without honed's other
keys, and with a bound on time and output; what it printed is kept in memory alone, and asked for again where the
provider refuses it. Every key is known to the log's redaction before anybody else sees it.
"""

from __future__ import annotations

import ipaddress
import os
import stat
import subprocess
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.config import ConfigError, ModelSection
from daemon.redaction import register_secret
from sandboxes.gateway.keys import KeyRenewal

_DEFAULTS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
NO_KEY = SecretStr("no-key-needed")
"""What stands for the key of a server on loopback."""
_KEY_BYTES = 64 * 1024
COMMAND_S = 30.0
"""What a command may take: it asks a keyring or a server."""

_printed: dict[tuple[str, ...], SecretStr] = {}
_printing = threading.Lock()


def key_name(section: ModelSection) -> str:
    """Where the section's key comes from, for messages: a variable, `api_key_file …` or `api_key_command …`."""
    if section.api_key_file is not None:
        return f"api_key_file {section.api_key_file}"
    if section.api_key_command:
        return f"api_key_command {Path(section.api_key_command[0]).name}"
    return section.api_key_env or _DEFAULTS[section.provider]


def key_remedy(section: ModelSection) -> str:
    """What mends a key that cannot be read."""
    if section.api_key_file is not None:
        return "mend the file, or set another api_key_file"
    if section.api_key_command:
        return "run the command by hand, or set another api_key_command"
    return "export the variable, or set api_key_env, api_key_file or api_key_command"


def key_variables(section: ModelSection) -> frozenset[str]:
    """Variables that may hold the section's key."""
    return frozenset({section.api_key_env or _DEFAULTS[section.provider]})


def read_key(section: ModelSection, environ: Mapping[str, str] | None = None) -> tuple[str, SecretStr]:
    """Where the key comes from and the key (`environ`: default the process's own). Blocks where a command is run.

    A server on loopback needs no key unless one is named. Raises `ConfigError` that says what to mend.
    """
    name = key_name(section)
    if section.api_key_file is not None:
        return name, _checked(name, _of_file(section.api_key_file))
    if section.api_key_command:
        return name, _of_command(name, section.api_key_command)
    value = (os.environ if environ is None else environ).get(name, "").strip()
    if not value:
        if section.api_key_env is None and section.base_url is not None and _is_loopback(section.base_url):
            return name, NO_KEY
        raise ConfigError(f"the {section.provider} key is missing: set the environment variable {name}")
    return name, _checked(f"the environment variable {name}", value)


def renewal(section: ModelSection) -> KeyRenewal | None:
    """How another key is got where the provider refuses this one; None where it is in the environment."""
    if section.api_key_file is None and not section.api_key_command:
        return None

    def again(refused: SecretStr) -> SecretStr | None:
        forget(section, refused)
        try:
            return read_key(section)[1]
        except ConfigError:
            return None  # the provider's refusal is told: it names where the key comes from

    return KeyRenewal(again, key_name(section))


def prepare(sections: Iterable[ModelSection | None]) -> None:
    """Run the commands of the sections that have one, so that nobody waits for them later. Blocks; raises nothing."""
    for section in sections:
        if section is not None and section.api_key_command:
            with suppress(ConfigError):  # told where the key is needed
                read_key(section)


def forget(section: ModelSection, refused: SecretStr) -> None:
    """Ask the section's command again the next time, if what it printed is the refused key."""
    command = section.api_key_command
    with _printing:
        if _printed.get(command) == refused:
            del _printed[command]


def _checked(place: str, value: str) -> SecretStr:
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(f"{place} holds no API key: it has blanks or odd characters")
    key = SecretStr(value)
    register_secret(key)
    return key


def _of_file(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"api_key_file {path} cannot be read: {error.strerror}") from None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise ConfigError(f"api_key_file {path} is no regular file: name one that holds the key alone")
    with os.fdopen(descriptor, "rb") as file:
        if about.st_mode & 0o077:
            raise ConfigError(f"api_key_file {path} can be read by others: run `chmod 600 {path}`")
        if about.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"api_key_file {path} belongs to another user: run `chown {os.geteuid()} {path}`")
        data = file.read(_KEY_BYTES + 1)
    text = data.decode("utf-8", "replace").strip()
    if not text or len(data) > _KEY_BYTES:
        raise ConfigError(f"api_key_file {path} holds no API key: it is {'too large' if text else 'empty'}")
    return text


def _of_command(name: str, command: tuple[str, ...]) -> SecretStr:
    with _printing:
        known = _printed.get(command)
        if known is None:
            known = _printed[command] = _checked(f"what {name} prints", _run(name, command))
        return known


def _run(name: str, command: tuple[str, ...]) -> str:
    """What the command prints. Its own complaints go to the terminal; they are in no message of ours."""
    environ = {key: value for key, value in os.environ.items() if key not in _DEFAULTS.values()}
    try:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=COMMAND_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{name} did not end within {COMMAND_S:g} s: it must print the key and ask nothing") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it holds a NUL"
        raise ConfigError(f"{name} cannot be run: {why}") from None
    text = done.stdout[: _KEY_BYTES + 1].decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise ConfigError(f"{name} failed with exit code {done.returncode}: run it by hand to see why")
    if not text or len(done.stdout) > _KEY_BYTES:
        raise ConfigError(f"{name} printed no API key: it must print the key alone")
    return text


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

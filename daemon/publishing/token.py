"""The forge's token: out of the environment, or out of the `gh` that a person has logged in with, and only there.

Invariants: its value is never part of a message, an argument or a file; nobody is asked for anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.config import Config, ConfigError
from daemon.config_publish import PublishSection
from daemon.redaction import register_secret
from daemon.secrets import key_variables
from skills_repo.message import neutral
from skills_repo.publish.access import TokenSource
from skills_repo.publish.address import Project
from skills_repo.publish.settings import ForgeKind

_DEFAULTS: dict[ForgeKind, str] = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}
_GH_S = 20.0
"""What `gh` may take: it reads a file or a keyring."""


def token_name(section: PublishSection, kind: ForgeKind) -> str:
    """The environment variable that holds the token."""
    return section.token_env or _DEFAULTS[kind]


def read_token(
    section: PublishSection,
    project: Project,
    environ: Mapping[str, str] | None = None,
    withheld: frozenset[str] = frozenset(),
) -> tuple[TokenSource, SecretStr]:
    """Where the token came from and the token, which no log shows from now on; raises `ConfigError`.

    For GitHub, and unless `token_env` names a variable, `gh` is asked where no variable is set. Blocking. `withheld`:
    variables that `gh` must not see.
    """
    environment = dict(os.environ if environ is None else environ)
    name = token_name(section, project.kind)
    source, value = TokenSource.variable(name), environment.get(name, "").strip()
    also = ""
    if not value and project.kind == "github" and section.token_env is None:
        host = gh_host(project.api_url)
        kept = {key: text for key, text in environment.items() if key not in withheld}
        value, also = _of_gh(host, kept)
        source = TokenSource("`gh auth token`", f"log in again: `gh auth login --hostname {host}`") if value else source
    if not value:
        msg = f"the forge's token is missing: set the environment variable {name}"
        raise ConfigError(f"{msg} (or name another in [publish] token_env{also})")
    if not value.isascii() or not value.isprintable() or " " in value:
        place = source.name if source.name != name else f"the environment variable {name}"
        raise ConfigError(f"{place} holds no token: it has blanks or odd characters")
    token = SecretStr(value)
    register_secret(token)
    return source, token


def gh_host(api_url: str) -> str:
    """The host that `gh` knows an API by: a token is asked for where it will be sent, and nowhere else."""
    host = urlsplit(api_url).netloc
    return "github.com" if host == "api.github.com" else host


def _of_gh(host: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The token, and for the message without one what else would help."""
    program = shutil.which("gh", path=environ.get("PATH", os.defpath))
    if program is None:
        return "", ", or install `gh` and log in"
    remedy = f", or `gh auth login --hostname {host}`"
    try:
        done = subprocess.run(
            [program, "auth", "token", "--hostname", host],
            env={**environ, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GH_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        what = "did not answer" if isinstance(error, subprocess.TimeoutExpired) else str(error.strerror)
        return "", f"{remedy}; gh {what}"
    if done.returncode != 0:
        said = neutral(done.stderr.decode("utf-8", "replace"), 120)
        return "", remedy + (f"; gh said: {said}" if said else "")
    return done.stdout.decode("utf-8", "replace").strip(), remedy


def model_keys(config: Config) -> frozenset[str]:
    """Variables that hold models' keys: nothing that publishing starts needs them."""
    sections = [section for section in (config.target, config.optimizer, config.judge) if section is not None]
    return frozenset({"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}).union(*map(key_variables, sections))

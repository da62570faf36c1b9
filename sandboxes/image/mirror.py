"""Where debootstrap gets its packages: the machine's own apt sources, in either of apt's formats.

Pure parsing and choosing; nothing here names a mirror.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sandboxes.image.recipe import SUITE

_SCHEMES = {"http", "https", "ftp", "file"}
_DEBIAN_NAMES = {"stable", "oldstable", "testing", "unstable", "sid", SUITE}


@dataclass(frozen=True)
class Source:
    """One place packages come from."""

    uri: str
    suite: str
    components: tuple[str, ...]
    keyring: Path | None = None


@dataclass(frozen=True)
class Mirror:
    """What debootstrap is told."""

    uri: str
    suite: str
    components: tuple[str, ...]
    keyring: Path | None = None

    @property
    def shown(self) -> str:
        """The host, for messages: an address may carry a password."""
        return urlsplit(self.uri).hostname or "a local mirror"


def parse_list(text: str) -> tuple[Source, ...]:
    """Sources of a one-line-style file (`deb [signed-by=…] URI SUITE COMPONENT…`)."""
    found = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        kind, _, rest = line.partition(" ")
        options = ""
        rest = rest.strip()
        if rest.startswith("["):
            options, _, rest = rest[1:].partition("]")
        words = rest.split()
        if kind != "deb" or len(words) < 2:
            continue
        keyring = next((o.split("=", 1)[1] for o in options.split() if o.lower().startswith("signed-by=")), "")
        found.append(Source(words[0], words[1], tuple(words[2:]), _keyring(keyring)))
    return tuple(found)


def parse_deb822(text: str) -> tuple[Source, ...]:
    """Sources of a deb822-style file: stanzas of `Key: value`, continued by indented lines."""
    found = []
    for fields in _stanzas(text):
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        components = tuple(fields.get("components", "").split())
        keyring = _keyring(fields.get("signed-by", ""))
        for uri in fields.get("uris", "").split():
            found += [Source(uri, suite, components, keyring) for suite in fields.get("suites", "").split()]
    return tuple(found)


def _stanzas(text: str) -> Iterable[dict[str, str]]:
    fields: dict[str, str] = {}
    key = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, key = {}, ""
        elif line[0].isspace():
            fields[key] = f"{fields.get(key, '')}\n{line.strip()}"
        else:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()


def _keyring(value: str) -> Path | None:
    """A keyring file; a key embedded in the source is left to debootstrap's default."""
    return Path(value) if value.startswith("/") and "\n" not in value else None


def read_sources(apt: Path = Path("/etc/apt")) -> tuple[Source, ...]:
    """All enabled binary sources of the machine, in apt's order."""
    found: list[Source] = []
    for file in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.suffix == ".list":
            found += parse_list(text)
        elif file.suffix == ".sources":
            found += parse_deb822(text)
    return tuple(found)


def read_os_release(file: Path = Path("/etc/os-release")) -> dict[str, str]:
    """The fields of os-release; empty where there is none."""
    if not file.is_file():
        return {}
    pairs = (line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
    return {key: value.strip("\"'") for key, value in pairs}


def choose_mirror(sources: Iterable[Source], os_release: Mapping[str, str]) -> Mirror | None:
    """The mirror and suite for the image: Debian's bookworm on Debian, the machine's own release on Ubuntu.

    None where the machine's sources name neither.
    """
    ubuntu = os_release.get("UBUNTU_CODENAME") or (
        os_release.get("VERSION_CODENAME") if os_release.get("ID") == "ubuntu" else None
    )
    wanted = {ubuntu} if ubuntu else {*_DEBIAN_NAMES, os_release.get("VERSION_CODENAME", SUITE)}
    for source in sources:
        if source.suite in wanted and "main" in source.components and urlsplit(source.uri).scheme in _SCHEMES:
            components = ("main", "universe") if ubuntu else ("main",)
            return Mirror(source.uri, ubuntu or SUITE, components, source.keyring)
    return None

"""The mirror comes from the machine's own apt sources, in both of apt's formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.image.mirror import (
    Mirror,
    Source,
    choose_mirror,
    parse_deb822,
    parse_list,
    read_os_release,
    read_sources,
)

DEBIAN = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
UBUNTU = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_CODENAME": "noble", "UBUNTU_CODENAME": "noble"}

DEB822 = """\
# a comment
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm
Components: main
"""


def test_one_line_format() -> None:
    text = """
    # deb http://commented.example/debian bookworm main
    deb http://mirror.example/debian bookworm main contrib # trailing
    deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://two.example/debian bookworm main
    deb-src http://src.example/debian bookworm main
    deb http://broken.example/debian
    """
    assert parse_list(text) == (
        Source("http://mirror.example/debian", "bookworm", ("main", "contrib")),
        Source("https://two.example/debian", "bookworm", ("main",), Path("/usr/share/keyrings/x.gpg")),
    )


def test_deb822_format_leaves_out_sources_and_disabled_stanzas() -> None:
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    assert parse_deb822(DEB822) == (
        Source("http://mirror.example/debian", "bookworm", ("main",), keyring),
        Source("http://mirror.example/debian", "bookworm-updates", ("main",), keyring),
    )


def test_deb822_continuation_lines_and_an_embedded_key() -> None:
    text = """\
Types: deb deb-src
URIs:
  http://one.example/debian
  http://two.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBFit2ioBEADhWpZ8
 -----END PGP PUBLIC KEY BLOCK-----
"""
    found = parse_deb822(text)
    assert [source.uri for source in found] == ["http://one.example/debian", "http://two.example/debian"]
    assert {source.keyring for source in found} == {None}


def test_sources_are_read_in_apts_order(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://first.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "a.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "b.list").write_text("deb http://last.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "c.list.save").write_text("deb http://no.example/debian bookworm main\n")
    uris = [source.uri for source in read_sources(tmp_path)]
    assert uris[0] == "http://first.example/debian"
    assert uris[-1] == "http://last.example/debian"
    assert "http://no.example/debian" not in uris
    assert read_sources(tmp_path / "nowhere") == ()


def test_debian_gets_bookworm_from_its_own_mirror() -> None:
    sources = (
        Source("https://third.example/apt", "nodistro", ("main",)),
        Source("http://mirror.example/debian", "trixie-updates", ("main",)),
        Source("http://mirror.example/debian", "trixie", ("main", "contrib"), Path("/k.gpg")),
    )
    chosen = choose_mirror(sources, {"ID": "debian", "VERSION_CODENAME": "trixie"})
    assert chosen == Mirror("http://mirror.example/debian", "bookworm", ("main",), Path("/k.gpg"))


def test_ubuntu_gets_its_own_release_with_universe() -> None:
    sources = (Source("http://mirror.example/ubuntu", "noble", ("main", "universe")),)
    chosen = choose_mirror(sources, UBUNTU)
    assert chosen == Mirror("http://mirror.example/ubuntu", "noble", ("main", "universe"))


@pytest.mark.parametrize(
    "source",
    [
        Source("cdrom:[Debian]/", "bookworm", ("main",)),
        Source("mirror+file:/etc/apt/mirrors.txt", "bookworm", ("main",)),
        Source("http://mirror.example/debian", "bookworm-security", ("main",)),
        Source("http://mirror.example/debian", "bookworm", ("contrib",)),
    ],
)
def test_what_debootstrap_cannot_use_is_not_chosen(source: Source) -> None:
    assert choose_mirror((source,), DEBIAN) is None


def test_a_mirrors_password_is_not_shown() -> None:
    assert Mirror("https://user:secret@mirror.example/debian", "bookworm", ("main",)).shown == "mirror.example"


def test_os_release(tmp_path: Path) -> None:
    file = tmp_path / "os-release"
    file.write_text("ID=debian\nVERSION_CODENAME=\"bookworm\"\n\nNAME='Debian GNU/Linux'\n")
    assert read_os_release(file) == {"ID": "debian", "VERSION_CODENAME": "bookworm", "NAME": "Debian GNU/Linux"}
    assert read_os_release(tmp_path / "none") == {}

"""The root file system's tar is the same for the same content, and holds nothing of the build or the host."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

from sandboxes.image.tree import EPOCH, tidy, write_tar

PACKAGE_DATE = 1_600_000_000


def _system(root: Path) -> Path:
    """A tiny root file system as debootstrap leaves one."""
    for folder in ("etc/apt", "var/log/apt", "var/cache/apt/archives", "usr/bin", "usr/share/doc/x", "dev", "tmp"):
        (root / folder).mkdir(parents=True)
    for file, text in {
        "etc/passwd": "root:x:0:0::/root:/bin/bash\n",
        "etc/group": "root:x:0:\n",
        "etc/passwd-": "old\n",
        "etc/resolv.conf": "nameserver 192.0.2.1\n",
        "etc/hostname": "builder\n",
        "etc/machine-id": "abc\n",
        "etc/apt/sources.list": "deb http://user:secret@mirror.example/debian bookworm main\n",
        "var/log/apt/history.log": "Start-Date: now\n",
        "var/cache/apt/archives/x.deb": "deb",
        "usr/share/doc/x/copyright": "text",
        "usr/bin/tool": "#!/bin/sh\n",
    }.items():
        (root / file).write_text(text)
    (root / "usr/bin/tool").chmod(0o4755)
    os.utime(root / "usr/bin/tool", (PACKAGE_DATE, PACKAGE_DATE))
    (root / "bin").symlink_to("usr/bin")
    os.link(root / "usr/bin/tool", root / "usr/bin/same")
    (root / "dev/log").symlink_to("/run/log")
    return root


def test_tidy_removes_what_tells_of_the_build(tmp_path: Path) -> None:
    tree = _system(tmp_path / "a")
    tidy(tree)
    assert [path.name for path in (tree / "var/log").iterdir()] == []
    assert not (tree / "var/cache/apt/archives").exists()
    assert list((tree / "dev").iterdir()) == []
    for blank in ("resolv.conf", "hostname", "machine-id", "apt/sources.list"):
        assert (tree / "etc" / blank).read_text() == ""
    assert not (tree / "etc/passwd-").exists()


def test_tidy_drops_set_uid_bits_and_names_the_user(tmp_path: Path) -> None:
    tree = _system(tmp_path / "a")
    tidy(tree)
    assert stat.S_IMODE((tree / "usr/bin/tool").stat().st_mode) == 0o755
    assert (tree / "etc/passwd").read_text().endswith("agent:x:1000:1000::/home/agent:/bin/bash\n")
    assert (tree / "etc/group").read_text().endswith("agent:x:1000:\n")


def test_tidy_follows_no_link_out_of_the_tree(tmp_path: Path) -> None:
    tree = _system(tmp_path / "a")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (tree / "usr/share/man").symlink_to(outside)
    (tree / "tmp/way-out").symlink_to(outside)
    tidy(tree)
    assert (outside / "kept").read_text() == "kept"


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        tree = _system(tmp_path / name)
        tidy(tree)
        digests.append(write_tar(tree, tmp_path / f"{name}.tar"))
    assert digests[0] == digests[1]
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    (tmp_path / "two/usr/bin/tool").write_text("#!/bin/bash\n")
    assert write_tar(tmp_path / "two", tmp_path / "three.tar") != digests[0]


def test_dates_owners_links(tmp_path: Path) -> None:
    tree = _system(tmp_path / "a")
    tidy(tree)
    write_tar(tree, tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as tar:
        entries = {entry.name: entry for entry in tar}
    assert entries["usr/bin/same"].mtime == PACKAGE_DATE, "compiled Python records its source's date"
    assert entries["etc/passwd"].mtime == EPOCH
    assert entries["usr/bin"].mtime == EPOCH
    assert {entry.uname for entry in entries.values()} == {""}
    assert entries["bin"].linkname == "usr/bin"
    assert entries["usr/bin/tool"].islnk()
    assert entries["usr/bin/tool"].linkname == "usr/bin/same"

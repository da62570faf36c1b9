from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.hardening import inner_layout
from sandboxes.namespaces import Way, becoming, bubblewrap_options
from sandboxes.sandbox import BoxSpec, Limits, Mount

SPEC = BoxSpec(
    "a-1",
    Path("/state/a-1"),
    1.0,
    gateway_socket=Path("/doors/1/s"),
    mounts=(Mount(Path("/cli"), "/opt/agents/deep/cli"),),
    limits=Limits(tmpfs_bytes=4096),
)


def argv(*, user_namespace: bool, root: Path | None = None) -> tuple[str, ...]:
    way, layout = Way(user_namespace=user_namespace), inner_layout(SPEC)
    return (*bubblewrap_options(SPEC, layout, way=way, root=root, status_fd=9), *becoming(way, layout), "/inner")


def follows(words: tuple[str, ...], *wanted: str) -> bool:
    """True if `wanted` stands in `words` in one piece."""
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


@pytest.mark.parametrize("user_namespace", [True, False])
def test_walls(user_namespace: bool) -> None:
    words = argv(user_namespace=user_namespace)

    for wall in ("pid", "net", "ipc", "uts", "cgroup-try"):
        assert f"--unshare-{wall}" in words
    for option in ("--die-with-parent", "--new-session", "--clearenv"):
        assert option in words
    assert follows(words, "--cap-drop", "ALL")
    assert not {"--share-net", "--dev-bind", "--cap-add-all", "--as-pid-1"} & set(words)
    assert words[-1] == "/inner"


def test_writable_places_are_few() -> None:
    words = argv(user_namespace=True)

    bound = [words[at + 1 : at + 3] for at, word in enumerate(words) if word == "--bind"]
    assert bound == [("/state/a-1/workspace", "/workspace"), ("/state/a-1/out", "/out")]
    tmpfs = {words[at + 1]: words[at - 4 : at] for at, word in enumerate(words) if word == "--tmpfs"}
    assert set(tmpfs) == {"/tmp", "/home/agent", "/dev/shm"}
    assert all(options == ("--perms", "1777", "--size", "4096") for options in tmpfs.values())


def test_the_root_becomes_read_only_after_everything_is_mounted() -> None:
    words = argv(user_namespace=True)
    last_mount = max(at for at, word in enumerate(words) if word in {"--bind", "--ro-bind", "--tmpfs", "--dir"})

    assert words.index("/", last_mount) > last_mount
    assert follows(words[last_mount:], "--remount-ro", "/")


def test_what_is_shown() -> None:
    words = argv(user_namespace=True)

    assert follows(words, "--ro-bind", "/cli", "/opt/agents/deep/cli")
    assert follows(words, "--ro-bind", "/doors/1", "/run/gateway")
    assert follows(words, "--perms", "0755", "--dir", "/opt/agents/deep"), "else others could not enter it"
    shown = {words[at + 1] for at, word in enumerate(words) if word in {"--ro-bind", "--bind"}}
    for private in ("/", "/home", "/root", "/tmp", "/var", "/run", "/mnt", "/srv", "/state", "/state/a-1"):
        assert private not in shown


def test_a_user_of_ones_own_or_a_real_change() -> None:
    mapped, changed = argv(user_namespace=True), argv(user_namespace=False)

    assert follows(mapped, "--unshare-user", "--uid", "1000", "--gid", "1000")
    assert "--cap-add" not in mapped
    assert follows(mapped, "--chdir", "/workspace", "/inner")
    assert "--unshare-user" not in changed
    assert [changed[at + 1] for at, word in enumerate(changed) if word == "--cap-add"] == [
        "CAP_SETUID",
        "CAP_SETGID",
        "CAP_SETPCAP",
    ]
    assert follows(changed, "--reuid", "1000", "--regid", "1000", "--clear-groups")
    assert follows(changed, "--bounding-set=-all", "--no-new-privs")


def test_a_given_root_shows_its_folders_but_not_in_our_places(tmp_path: Path) -> None:
    for name in ("usr", "etc", "var", "home", "tmp", "opt", "proc", "workspace"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "usr" / "bin").mkdir()

    words = argv(user_namespace=True, root=tmp_path)

    shown = {
        words[at + 2]
        for at, word in enumerate(words)
        if word == "--ro-bind" and words[at + 1].startswith(str(tmp_path))
    }
    assert shown == {"/usr", "/etc", "/var"}
    assert follows(words, "--symlink", "usr/bin", "/bin")
    assert "/dangling" not in words

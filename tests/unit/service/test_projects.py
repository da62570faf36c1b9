"""Which honed.toml files a daemon keeps, and what becomes of one that breaks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from daemon.config import ConfigError
from daemon.service.projects import Projects

GOOD = """
[skill]
path = "skills/{skill}"
[tasks]
path = "tasks.jsonl"
[target]
harness = "chat"
model = "m"
[optimizer]
model = "m"
"""


def lay(folder: Path, skill: str = "pdf", more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "honed.toml"
    file.write_text(GOOD.format(skill=skill) + more)
    return file


def names(projects: Projects) -> list[str]:
    return [one.name for one in projects.all()]


def test_one_file_is_one_project(tmp_path: Path) -> None:
    projects = Projects.load(lay(tmp_path))
    assert names(projects) == ["pdf"]
    assert projects.named("pdf") is projects.of_file(tmp_path / "honed.toml")
    assert projects.named("xls") is None
    assert projects.all()[0].state == tmp_path / ".honed"


def test_further_files_come_by_path_and_pattern_each_once(tmp_path: Path) -> None:
    for name in ("xls", "doc", "ppt"):
        lay(tmp_path / "more" / name, name)
    (tmp_path / "link").symlink_to(tmp_path / "more" / "xls")
    also = f'["more/*/honed.toml", "more/xls/honed.toml", "link/honed.toml", "{tmp_path}/more/doc/honed.toml"]'
    projects = Projects.load(lay(tmp_path, more=f"[daemon]\nalso = {also}\n"))
    assert names(projects) == ["doc", "pdf", "ppt", "xls"]


def test_equal_names_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    lay(tmp_path / "a")
    lay(tmp_path / "b")
    lay(tmp_path / "c" / "b")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["**/honed.toml"]\n'))
    assert names(projects) == ["pdf", "pdf@a", "pdf@b", "pdf@b-2"]


def test_a_pattern_that_matches_nothing_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[daemon\] also: x/\*.toml matches no file"):
        Projects.load(lay(tmp_path, more='[daemon]\nalso = ["x/*.toml"]\n'))


def test_a_main_file_that_cannot_be_used_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        Projects.load(tmp_path / "honed.toml")


def test_a_file_that_breaks_leaves_the_last_good_one_and_is_said(tmp_path: Path) -> None:
    lay(tmp_path / "xls", "xls")
    main = lay(tmp_path, more='[daemon]\nalso = ["xls/honed.toml"]\nruns = 2\n')
    projects = Projects.load(main)
    (tmp_path / "xls" / "honed.toml").write_text("[skill\n")
    (fault,) = projects.reload()
    assert "xls/honed.toml:1: is not valid TOML" in fault
    xls = projects.named("xls")
    assert xls is not None
    assert (xls.wrong, xls.config.skill.path) == (fault, "skills/xls")
    main.write_text("nonsense = 1\n")
    assert len(projects.reload()) == 2
    assert projects.main.daemon.runs == 2
    lay(tmp_path / "xls", "xls")
    lay(tmp_path)
    assert projects.reload() == ()
    assert names(projects) == ["pdf"]


def test_a_file_that_never_worked_is_said_and_kept_once_it_does(tmp_path: Path) -> None:
    (tmp_path / "xls").mkdir()
    (tmp_path / "xls" / "honed.toml").write_text("[skill\n")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["xls/honed.toml"]\n'))
    assert names(projects) == ["pdf"]
    assert "not valid TOML" in projects.reload()[0]
    lay(tmp_path / "xls", "xls")
    assert projects.reload() == ()
    assert names(projects) == ["pdf", "xls"]


def test_a_name_stays_while_others_come_and_go(tmp_path: Path) -> None:
    lay(tmp_path / "b")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["*/honed.toml"]\n'))
    assert names(projects) == ["pdf", "pdf@b"]
    lay(tmp_path / "a")
    projects.reload()
    found = projects.of_file(tmp_path / "b" / "honed.toml")
    assert found is not None
    assert found.name == "pdf@b"
    assert names(projects) == ["pdf", "pdf@a", "pdf@b"]


def test_a_newcomer_never_takes_the_name_of_one_that_is_kept(tmp_path: Path) -> None:
    lay(tmp_path / "z" / "b", "xls")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["*/*/honed.toml"]\n'))
    lay(tmp_path / "a" / "b", "xls")
    projects.reload()
    assert names(projects) == ["pdf", "xls", "xls@b"]
    found = projects.named("xls")
    assert found is not None
    assert found.file.parent.parent.name == "z"


def test_reading_from_several_sides_at_once_shows_nobody_a_part_and_changes_no_name(tmp_path: Path) -> None:
    for number in range(6):
        lay(tmp_path / f"p{number}")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["*/honed.toml"]\n'))
    before = names(projects)
    seen: list[list[str]] = []
    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(projects.reload) for _ in range(20)]
        while not all(one.done() for one in reading):
            seen.append(names(projects))
    assert [one.result() for one in reading] == [()] * 20
    assert all(one == before for one in [*seen, names(projects)])


def test_a_name_stays_over_a_start_at_which_other_files_cannot_be_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lay(tmp_path / name, "xls")
    main = lay(tmp_path, more='[daemon]\nalso = ["a/honed.toml", "b/honed.toml"]\n')
    first = Projects.load(main)
    assert names(first) == ["pdf", "xls", "xls@b"]
    good = (tmp_path / "a" / "honed.toml").read_text()
    (tmp_path / "a" / "honed.toml").write_text("[skill\n")
    second = Projects.load(main)
    second.remember(first.names)
    assert names(second) == ["pdf", "xls@b"]
    (tmp_path / "a" / "honed.toml").write_text(good)
    assert second.reload() == ()
    assert names(second) == ["pdf", "xls", "xls@b"]
    assert second.names == first.names


def test_a_folder_that_was_moved_keeps_its_names(tmp_path: Path) -> None:
    lay(tmp_path / "p" / "b", "xls")
    lay(tmp_path / "p" / "a", "xls")
    lay(tmp_path / "p", more='[daemon]\nalso = ["a/honed.toml", "../p/b/honed.toml"]\n')
    first = Projects.load(tmp_path / "p" / "honed.toml")
    moved = tmp_path / "moved"
    (tmp_path / "p").rename(moved)
    lay(tmp_path / "p" / "b", "xls")
    second = Projects.load(moved / "honed.toml")
    second.remember(first.names)
    assert names(second) == names(first)
    assert second.names == first.names


def test_names_of_an_older_honed_are_kept(tmp_path: Path) -> None:
    lay(tmp_path / "a", "xls")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["a/honed.toml"]\n'))
    projects.remember({str(tmp_path / "honed.toml"): "pdf@was", str(tmp_path / "a" / "honed.toml"): "xls@was"})
    assert names(projects) == ["pdf@was", "xls@was"]


def test_a_file_that_hones_another_skill_now_is_named_anew(tmp_path: Path) -> None:
    first = Projects.load(lay(tmp_path))
    second = Projects.load(lay(tmp_path, "xls"))
    second.remember(first.names)
    assert names(second) == ["xls"]

"""`honed publish` and the end of `honed train` from the outside, with git and a forge on loopback."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.forges import PROJECT, TOKEN, ForgeServer
from tests.support.git_server import GitServer
from tests.support.honed_cli import environment, git, honed, journal_rows
from tests.support.projects import demo_project
from tests.support.publishing import refs

KEEP = {"train": 6, "selection": 6, "test": 2}


def publish_section(forge: ForgeServer | None, mode: str) -> str:
    """Lines of honed.toml."""
    more = f'forge = "{forge.kind}"\napi_url = "{forge.api_url}"\ntoken_env = "FORGE_TOKEN"\n' if forge else ""
    return f'\n[publish]\nmode = "{mode}"\n{more}'


async def test_a_run_publishes_at_its_end_and_the_verb_has_nothing_to_add(tmp_path: Path) -> None:
    async with GitServer(tmp_path / "remote") as server, ForgeServer("github") as forge:
        project, bare = publishing_project(tmp_path / "demo", server, forge)
        before = honed("train", "--json", cwd=project)
        assert before.code == 2, "known before anything is paid"
        assert "set the environment variable FORGE_TOKEN" in before.error
        assert not (project / ".honed" / "journal.sqlite").exists()

        env = environment(FORGE_TOKEN=TOKEN)
        done = honed("train", "--json", cwd=project, env=env)
        assert done.code == 0, done.stderr
        assert done.result["commits"], "there is something to publish"
        [row] = forge.rows
        published = done.result["published"]
        assert (published["outcome"], published["url"]) == ("created", f"{forge.origin}/{PROJECT}/pull/1")
        assert git(bare, "rev-parse", f"refs/heads/{row.branch}") == done.result["commits"][-1]
        assert "### Tasks fixed and broken" in row.body
        assert "| all | test" in row.body
        assert "<summary>Trace excerpts" in row.body

        again = honed("publish", "--json", cwd=project, env=env)
        assert (again.code, again.result["outcome"]) == (0, "unchanged")
        assert again.result["body"] == row.body.replace("\r\n", "\n")
        shown = honed("publish", "--dry-run", cwd=project, env=env)
        assert "unchanged (dry run)" in shown.stdout
        assert "### Edits" in shown.stdout
        assert len(forge.rows) == 1

        git(bare, "update-ref", f"refs/heads/{row.branch}", done.result["commits"][0] + "~1")
        stopped = honed("publish", "--json", cwd=project, env=env)
        assert (stopped.code, stopped.result["outcome"]) == (1, "stopped")
        forge.token = "another"
        refused = honed("publish", "--json", cwd=project, env=env)
        assert (refused.code, refused.result["error"]["kind"]) == (1, "publish")
        everything = "".join(ran.stdout + ran.stderr for ran in (before, done, again, shown, stopped, refused))
        assert TOKEN not in everything
        assert TOKEN not in json.dumps([forge.asked, server.requests])


def test_by_default_nothing_is_published_and_a_missing_remote_is_said(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "demo", keep=KEEP, chat=True)
    quiet = honed("publish", "--json", cwd=project)
    assert (quiet.code, quiet.result["outcome"]) == (0, "off")
    assert "nothing leaves this machine" in quiet.result["reason"]
    toml = project / "honed.toml"
    toml.write_text(toml.read_text() + publish_section(None, "push"))
    lost = honed("publish", "--json", cwd=project)
    assert lost.code == 1
    assert "there is no git remote origin" in lost.result["error"]["message"]
    assert "mend [publish] remote" in lost.error


async def test_closing_the_request_makes_its_edits_rejected_and_they_are_not_proposed_again(tmp_path: Path) -> None:
    """Train, publish, a person closes it with a word, publish, train anew from HEAD: it teaches as a revert does."""
    async with GitServer(tmp_path / "remote") as server, ForgeServer("github") as forge:
        project, bare = publishing_project(tmp_path / "demo", server, forge)
        env = environment(FORGE_TOKEN=TOKEN)
        first = honed("train", "--json", cwd=project, env=env)
        assert first.result["published"]["outcome"] == "created", first.stderr[-2000:]
        edits = first.result["commits"]
        [row] = forge.rows
        forge.end(1, comment="The sheet is read by another team: leave it. Fixes #12")

        waiting = honed("publish", "--json", cwd=project, env=env).result
        assert waiting["outcome"] == "waiting"
        assert "leave it" in waiting["reason"]
        kept = git(project, "for-each-ref", "--format=%(contents)", "refs/honed/rejected/*/request-1")
        assert "Honed-Reason: The sheet is read by another team: leave it. Fixes # 12" in kept
        assert [f"Honed-Commit: {sha}" in kept for sha in edits] == [True] * len(edits)
        listed = honed("log", "--rejected", "--json", cwd=project)
        assert (listed.code, json.dumps(listed.result).count('"person"')) == (0, len(edits))

        git(project, "branch", "-D", row.branch)  # the person starts anew from HEAD, and deletes the branch there
        git(bare, "update-ref", "-d", f"refs/heads/{row.branch}")
        second = honed("train", "--json", cwd=project, env=env)
        assert second.code == 0, second.stderr[-2000:]
        assert "a person closed" in second.stderr
        rejected = [added_lines(project, sha) for sha in edits]
        for sha in second.result["commits"]:
            assert added_lines(project, sha) not in rejected
        none, two = (json.loads(payload)["taken_back"] for payload in decided(project, "people"))
        assert none == []
        assert {one["reason"] for one in two} == {"The sheet is read by another team: leave it. Fixes # 12"}
        assert sorted(one["commit"] for one in two) == sorted(edits)
        steps = [json.loads(payload) for payload in decided(project, "step", run=second.result["run"])]
        proposed = [edit["content"] for step in steps for edit in step["proposed"]]
        assert not {one["edit"]["content"] for one in two} & set(proposed)
        assert [request.state for request in forge.rows][:1] == ["closed"]
        assert len({request.branch for request in forge.rows if request.state == "open"}) <= 1


def decided(project: Path, kind: str, *, run: str = "") -> list[str]:
    """The payloads of a kind, of one run or of all, in order."""
    rows = journal_rows(project, f"SELECT run_id, payload FROM decisions WHERE kind = '{kind}' ORDER BY seq")
    return [payload for run_id, payload in rows if run in ("", run_id)]


def added_lines(project: Path, commit: str) -> tuple[str, ...]:
    """What a commit adds to the skill."""
    shown = git(project, "show", "--format=", "--unified=0", commit)
    return tuple(line[1:] for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++"))


def publishing_project(folder: Path, server: GitServer, forge: ForgeServer) -> tuple[Path, Path]:
    """The demo's project, pushed to a remote of its own and set to publish; and the remote's folder."""
    project = demo_project(folder, keep=KEEP, chat=True)
    bare = server.bare(PROJECT)
    forge.read_heads = lambda: {name.removeprefix("refs/heads/"): oid for name, oid in refs(bare).items()}
    git(project, "remote", "add", "origin", server.url(PROJECT))
    toml = project / "honed.toml"
    toml.write_text(toml.read_text() + publish_section(forge, "pull-request"))
    git(project, "commit", "-qam", "Publish")
    branch = git(project, "symbolic-ref", "--short", "HEAD")
    git(project, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    git(bare, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    return project, bare

"""`honed publish` and the end of `honed train` from the outside, with git and a forge on loopback."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.forges import PROJECT, TOKEN, ForgeServer
from tests.support.git_server import GitServer
from tests.support.honed_cli import environment, git, honed
from tests.support.projects import demo_project
from tests.support.publishing import refs

KEEP = {"train": 6, "selection": 6, "test": 2}


def publish_section(forge: ForgeServer | None, mode: str) -> str:
    """Lines of honed.toml."""
    more = f'forge = "{forge.kind}"\napi_url = "{forge.api_url}"\ntoken_env = "FORGE_TOKEN"\n' if forge else ""
    return f'\n[publish]\nmode = "{mode}"\n{more}'


async def test_a_run_publishes_at_its_end_and_the_verb_has_nothing_to_add(tmp_path: Path) -> None:
    async with GitServer(tmp_path / "remote") as server, ForgeServer("github") as forge:
        project = demo_project(tmp_path / "demo", keep=KEEP, chat=True)
        bare = server.bare(PROJECT)
        forge.read_heads = lambda: {name.removeprefix("refs/heads/"): oid for name, oid in refs(bare).items()}
        git(project, "remote", "add", "origin", server.url(PROJECT))
        toml = project / "honed.toml"
        toml.write_text(toml.read_text() + publish_section(forge, "pull-request"))
        git(project, "commit", "-qam", "Publish")
        branch = git(project, "symbolic-ref", "--short", "HEAD")
        git(project, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        git(bare, "symbolic-ref", "HEAD", f"refs/heads/{branch}")

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

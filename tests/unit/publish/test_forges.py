"""One conformance suite for GitHub, GitLab and the fake; then what only HTTP can do: refuse, limit, break, page."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from skills_repo.publish.address import project_of, same_project
from skills_repo.publish.errors import PublishError
from skills_repo.publish.fake import FakeForge
from skills_repo.publish.forge import Comment, Draft, ExistsError, Forge
from skills_repo.publish.http import proxy_for
from tests.support.forges import TOKEN, Fault, ForgeServer

DRAFT = Draft("honed/xlsx", "main", "title", "body", ("skills",))


@dataclass
class Lab:
    """A forge, and what people do there."""

    forge: Forge
    heads: dict[str, str]
    end: Callable[[int, bool, str], None]


@pytest.fixture(params=["github", "gitlab", "fake"])
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    """All three."""
    if request.param == "fake":
        fake = FakeForge()

        def end(number: int, merged: bool, comment: str) -> None:
            fake.end(number, merged=merged, comment=Comment("reviewer", comment) if comment else None)

        yield Lab(fake, fake.heads, end)
        return
    async with ForgeServer(request.param, page=2) as server:
        forge = server.forge()
        yield Lab(forge, server.heads, lambda number, merged, text: server.end(number, merged=merged, comment=text))
        await forge.close()


async def test_a_request_is_opened_found_and_written_again(lab: Lab) -> None:
    forge = lab.forge
    assert await forge.requests_of("honed/xlsx") == ()
    lab.heads["honed/xlsx"] = "a" * 40
    made = await forge.create(DRAFT)
    assert (made.number, made.state, made.branch, made.head) == (1, "open", "honed/xlsx", "a" * 40)
    assert (made.title, made.body) == ("title", "body")
    assert made.labels == (("skills",) if forge.labels_on_create else ())
    await forge.update(1, title="new", body="longer ✓")
    await forge.add_labels(1, ("needs-review", "skills"))
    await forge.add_labels(1, ("skills",))
    lab.heads["honed/xlsx"] = "b" * 40
    [found] = await forge.requests_of("honed/xlsx")
    assert (found.title, found.body, found.head) == ("new", "longer ✓", "b" * 40)
    assert sorted(found.labels) == ["needs-review", "skills"]
    assert abs(found.created - datetime.now(UTC)) < timedelta(minutes=5)
    assert await forge.requests_of("honed/xls") == ()


async def test_one_branch_has_one_open_request(lab: Lab) -> None:
    await lab.forge.create(DRAFT)
    with pytest.raises(ExistsError):
        await lab.forge.create(DRAFT)
    lab.end(1, False, "")
    assert (await lab.forge.create(DRAFT)).number == 2
    assert [row.state for row in await lab.forge.requests_of("honed/xlsx")] == ["open", "closed"]
    lab.end(2, True, "")
    assert [(row.number, row.state) for row in await lab.forge.requests_of("honed/xlsx")] == [
        (2, "merged"),
        (1, "closed"),
    ]


async def test_requests_are_counted_over_all_skills_and_pages(lab: Lab) -> None:
    for number in range(5):
        await lab.forge.create(Draft(f"honed/s{number}", "main", "t", "b"))
    await lab.forge.create(Draft("feature", "main", "t", "b"))
    lab.end(5, False, "")
    assert await lab.forge.open_of_honed() == 4
    assert await lab.forge.opened_since(datetime.now(UTC) - timedelta(hours=1)) == 5
    assert await lab.forge.opened_since(datetime.now(UTC) + timedelta(hours=1)) == 0


async def test_the_last_comment(lab: Lab) -> None:
    await lab.forge.create(DRAFT)
    assert await lab.forge.last_comment(1) is None
    for text in ("one", "two", "three"):
        lab.end(1, False, text)
    assert await lab.forge.last_comment(1) == Comment("reviewer", "three")


@pytest.fixture(params=["github", "gitlab"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[ForgeServer]:
    """A forge that can fail."""
    async with ForgeServer(request.param) as one:
        yield one


async def asked(server: ForgeServer, *faults: Fault | None) -> str:
    """What is raised by one look, or `` if it went well."""
    server.faults = list(faults)
    server.asked.clear()
    forge = server.forge()
    try:
        await forge.requests_of("honed/xlsx")
    except PublishError as error:
        return str(error).replace(TOKEN, "THE TOKEN")
    finally:
        await forge.close()
    return ""


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "refused the request (400)"),
        (401, 'does not take the token (401): "no" (renew it and set the environment variable FORGE_TOKEN'),
        (403, "the token from FORGE_TOKEN may not do this in team/skills"),
        (404, "knows no project team/skills, or the token from FORGE_TOKEN may not see it"),
        (422, "check [publish] base and labels"),
        (302, 'answered with status 302: "no" (check [publish] api_url and forge)'),
        (418, "answered with status 418"),
    ],
)
async def test_a_refusal_is_said_once_with_its_remedy(server: ForgeServer, status: int, words: str) -> None:
    said = await asked(server, Fault(status, headers={"Location": "http://elsewhere.example/"}))
    assert words in said
    assert "THE TOKEN" not in said
    assert len(server.asked) == 1, "asking again would not help, and no redirect is followed"
    assert server.tokens == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("fault", [Fault(500), Fault(502), Fault(503), Fault(504), Fault(0, cut=True)])
async def test_what_passes_is_tried_again(server: ForgeServer, fault: Fault) -> None:
    if fault.cut:
        fault = Fault(500, cut=True)
    assert await asked(server, fault, fault) == ""
    assert len(server.asked) >= 3
    said = await asked(server, *[fault] * 9)
    assert "failed (50" in said or "cannot be reached" in said
    assert "nothing is lost" in said or "check the network" in said


async def test_a_rate_limit_is_waited_for_as_long_as_the_forge_asks(server: ForgeServer) -> None:
    assert await asked(server, Fault(429, headers={"Retry-After": "7"})) == ""
    assert server.waits == [7.0]
    soon = str(int(time.time()) + 20)
    assert await asked(server, Fault(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": soon})) == ""
    assert 10 < server.waits[-1] <= 20
    said = await asked(server, Fault(429, headers={"Retry-After": "3600"}))
    assert 'limits the rate of requests (429): "no" (run `honed publish` again in 60 min)' in said
    assert len(server.asked) == 1
    said = await asked(server, *[Fault(403, headers={"Retry-After": "25"})] * 4)
    assert "limits the rate" in said
    assert len(server.asked) == 3, "waits are bounded together"


async def test_errors_of_a_forge_are_short_and_harmless(server: ForgeServer) -> None:
    text = "@octocat " + "x" * 5_000 + "\x1b[31m"
    said = await asked(server, Fault(422, {"message": text, "errors": [{"message": ["deep", {"a": "er"}]}, 7]}))
    assert len(said) < 500
    assert "\x1b" not in said
    assert "@octocat" not in said


@pytest.mark.parametrize("body", [{"a": 1}, ["text"], [{"number": "x"}], None, [{"head": {"repo": None}}, 3]])
async def test_an_answer_that_is_none_is_said(server: ForgeServer, body: object) -> None:
    said = await asked(server, Fault(200, body))
    assert "something else than its API documents" in said


def changed(server: ForgeServer, at: str, value: object) -> dict[str, Any]:
    """A documented answer with one field that is odd; `at` says which: GitHub's name, then GitLab's."""
    row = server.row(server.open("honed/xlsx"))
    *outer, name = at.split(" ")[server.kind == "gitlab"].split(".")
    inner = row[outer[0]] if outer else row
    inner[name] = value
    return row


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("number iid", float("inf")),
        ("number iid", -1),
        ("number iid", "9" * 3_000),
        ("created_at created_at", "2026-01-01T00:00:00"),
        ("created_at created_at", 7),
        ("labels labels", 7),
    ],
)
async def test_a_field_that_is_none_is_said(server: ForgeServer, at: str, value: object) -> None:
    said = await asked(server, Fault(200, [changed(server, at, value)]))
    assert "something else than its API documents" in said


@pytest.mark.parametrize("value", ["HEAD", "main", ":/text", "a\0b", "\ud800", 7, None, "F" * 40])
async def test_a_head_that_is_no_commit_id_is_none_at_all(server: ForgeServer, value: object) -> None:
    server.faults = [Fault(200, [changed(server, "head.sha sha", value)])]
    forge = server.forge()
    [request] = await forge.requests_of("honed/xlsx")
    assert request.head == ""
    await forge.close()


@pytest.mark.parametrize("who", [7, "text", [1], True])
async def test_a_comment_of_nobody_is_read(server: ForgeServer, who: object) -> None:
    server.faults = [Fault(200, [{"body": "a word", "user": who, "author": who, "created_at": "x"}]), Fault(200, [])]
    forge = server.forge()
    comment = await forge.last_comment(1)
    assert comment is not None
    assert (comment.author, comment.text) == ("", "a word")
    await forge.close()


@pytest.mark.parametrize("repo", [7, "text", [1], True])
async def test_a_head_in_no_repository_is_not_honed_s(repo: object) -> None:
    async with ForgeServer("github") as server:
        assert await asked(server, Fault(200, [changed(server, "head.repo", repo)])) == ""


@pytest.mark.parametrize("name", ["Retry-After", "X-RateLimit-Reset"])
@pytest.mark.parametrize("value", ["\u00b2", "9" * 400, "-1", "soon"])
async def test_a_rate_limit_s_end_that_is_no_number_is_not_told(server: ForgeServer, name: str, value: str) -> None:
    said = await asked(server, *[Fault(429, headers={name: value})] * 9)
    assert "limits the rate of requests (429)" in said
    assert "in 1 min)" in said
    assert len(server.asked) == 4


@pytest.mark.parametrize("link", ["http://[::1", "http://x:99999999/"])
async def test_a_next_page_that_is_no_address_is_said(server: ForgeServer, link: str) -> None:
    said = await asked(server, Fault(200, [], {"Link": f'<{link}>; rel="next"'}))
    assert "something else than its API documents" in said


async def test_a_next_page_elsewhere_is_not_asked(server: ForgeServer) -> None:
    link = '<http://elsewhere.example/x>; rel="next"'
    said = await asked(server, Fault(200, [], {"Link": link}))
    assert "sent a next page outside of" in said


async def test_a_title_that_is_refused_is_no_existing_request(server: ForgeServer) -> None:
    forge = server.forge()
    server.faults = [Fault(422, {"message": "Validation Failed", "errors": [{"message": "base is invalid"}]})]
    with pytest.raises(PublishError, match=r'refused the request \(422\): "Validation Failed; base is invalid"'):
        await forge.create(DRAFT)
    await forge.close()


async def test_a_request_is_once_opened_though_the_answer_was_lost(server: ForgeServer) -> None:
    forge = server.forge()
    server.open("honed/xlsx")  # the first try did it, and its answer never came
    server.faults = [Fault(500, cut=True)]
    with pytest.raises(ExistsError):
        await forge.create(DRAFT)
    await forge.close()
    assert len(server.rows) == 1


def test_access_does_not_print_its_token() -> None:
    assert TOKEN not in repr(ForgeServer("github").access())


async def test_nobody_at_home_is_said() -> None:
    server = ForgeServer("github")
    async with server:
        pass
    forge = server.forge()
    with pytest.raises(PublishError, match=r"GitHub at 127.0.0.1:\d+ cannot be reached: .*\[publish\] api_url"):
        await forge.open_of_honed()
    await forge.close()
    assert server.waits == [1.0, 2.0, 4.0]


async def test_a_netrc_does_not_stand_in_for_the_token(
    server: ForgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert await asked(server) == ""
    assert server.tokens == {f"Bearer {TOKEN}"}


def test_the_environment_s_proxy_is_used_but_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for("https://api.github.com/x") == "http://proxy.example:3128"
    assert proxy_for("https://git.inside.example/x") is None
    assert proxy_for("https://127.0.0.1:8443/x") is proxy_for("http://api.example/x") is None


@pytest.mark.parametrize(
    ("address", "kind", "api", "path"),
    [
        ("https://github.com/team/skills.git", "github", "https://api.github.com", "team/skills"),
        ("https://user:secret@github.com/team/skills", "github", "https://api.github.com", "team/skills"),
        ("git@github.com:team/skills.git", "github", "https://api.github.com", "team/skills"),
        ("ssh://git@ssh.github.com:443/team/skills.git", "github", "https://api.github.com", "team/skills"),
        ("https://github.example.com/team/skills/", "github", "https://github.example.com/api/v3", "team/skills"),
        ("git@gitlab.com:a/b/c/skills.git", "gitlab", "https://gitlab.com/api/v4", "a/b/c/skills"),
        ("ssh://git@gitlab.example.com:2222/a/b.git", "gitlab", "https://gitlab.example.com/api/v4", "a/b"),
        ("https://gitlab.example.com:8443/a/b.git", "gitlab", "https://gitlab.example.com:8443/api/v4", "a/b"),
        ("http://gitlab.example.com/a/b.git", "gitlab", "https://gitlab.example.com/api/v4", "a/b"),
    ],
)
def test_the_project_behind_an_address(address: str, kind: str, api: str, path: str) -> None:
    found = project_of(address)
    assert (found.kind, found.api_url, found.path) == (kind, api, path)


def test_two_addresses_of_one_project() -> None:
    https = "https://user:secret@github.com/team/skills.git"
    assert same_project(https, "git@github.com:team/skills")
    assert same_project("/srv/a.git", "/srv/a.git")
    assert not same_project(https, "git@github.com:fork/skills.git")
    assert not same_project(https, "https://github.example.com/team/skills.git")
    assert not same_project("/srv/a.git", "/srv/b.git")


def test_a_token_goes_over_plain_http_to_this_machine_alone() -> None:
    assert project_of("http://127.0.0.1:81/a/b.git", "gitlab").api_url == "http://127.0.0.1:81/api/v4"
    assert project_of("http://git.example.com:81/a/b", "github").api_url == "https://git.example.com:81/api/v3"
    assert (
        project_of("https://x.example.com/a/b", "github", "https://api.x.example.com/").api_url
        == "https://api.x.example.com"
    )


@pytest.mark.parametrize(
    ("address", "kind", "words"),
    [
        ("https://git.example.com/a/b.git", "auto", 'set [publish] forge to "github" or "gitlab"'),
        ("https://user:secret@notgithub.com/a/b.git", "auto", "set [publish] forge"),
        ("/srv/git/skills.git", "auto", "mend [publish] remote"),
        ("file:///srv/git/skills.git", "github", "mend [publish] remote"),
        ("https://user:secret@github.com/team", "auto", "is no address of a project"),
        ("https://github.com/a/b/c", "auto", "is no owner/name"),
        ("https://github.com/a/b?x=../..", "auto", None),
        ("https://github.com/a/%2e%2e%20/b", "auto", "is no address of a project"),
        ("https://[::1/a/b", "auto", "is no address of a project"),
        ("C:\\skills", "auto", "is no address of a project"),
    ],
)
def test_an_address_without_a_project(address: str, kind: Literal["auto", "github"], words: str | None) -> None:
    if words is None:
        assert project_of(address, kind).path == "a/b"
        return
    with pytest.raises(PublishError) as raised:
        project_of(address, kind)
    assert words in str(raised.value)
    assert "secret" not in str(raised.value)

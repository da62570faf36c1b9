"""A forge's refusals as one sentence each: what it refused, the key or variable concerned, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from skills_repo.message import neutral
from skills_repo.publish.access import Access
from skills_repo.publish.errors import PublishError


class Answer(Protocol):
    """What is needed of a reply."""

    @property
    def status(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""

    @property
    def data(self) -> Any:
        """The JSON."""


def refusal(access: Access, reply: Answer | None, *, fault: str = "", wait: float | None = None) -> PublishError:
    """The error to raise; `fault`: why there is no reply; `wait` is set where trying again later may help."""
    host = urlsplit(access.api_url).netloc
    place = f"{access.forge} at {host}"
    if reply is None:
        return PublishError(f"{place} cannot be reached: {fault} (check the network and [publish] api_url)")
    status, text = reply.status, message_of(reply.data)
    said = f': "{text}"' if text else ""
    if wait is not None and status < 500:
        what = f"{place} limits the rate of requests ({status}){said}"
        return PublishError(f"{what} (run `honed publish` again in {max(1, round(wait / 60))} min)")
    if status >= 500:
        return PublishError(f"{place} failed ({status}){said} (try again later; nothing is lost)")
    scope = "pull requests: write" if access.forge == "GitHub" else "scope api"
    source = {"token": access.source.name, "renew": access.source.renew}
    words = {"place": place, "project": access.project, "said": said, "scope": scope, **source}
    return PublishError(_CLIENT.get(status, _OTHER).format(**words, status=status))


_CLIENT = {
    401: "{place} does not take the token (401){said} ({renew})",
    403: "the token from {token} may not do this in {project} at {place} (403){said} (give it {scope})",
    404: "{place} knows no project {project}, or the token from {token} may not see it (404) (check the address "
    "of [publish] remote, api_url, and the token's rights)",
    422: "{place} refused the request (422){said} (check [publish] base and labels)",
    400: "{place} refused the request (400){said} (check [publish] base and labels)",
}
_OTHER = "{place} answered with status {status}{said} (check [publish] api_url and forge)"


def message_of(data: Any) -> str:
    """What the forge says in its JSON, short and harmless; empty if it says nothing."""
    parts: list[str] = []
    if isinstance(data, dict):
        for key in ("message", "error", "error_description"):
            parts += _texts(data.get(key))
        parts += [text for row in _rows(data.get("errors")) for text in _texts(row)]
    return neutral("; ".join(dict.fromkeys(parts)), 200)


def _rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    return []

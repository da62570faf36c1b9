"""Paths: what is not one of the few that are served, however it is written, leads nowhere."""

from __future__ import annotations

from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import front

TRICKS = {
    "path-dots": ("steps out of a path by `..`", "/v1/responses/../files"),
    "path-dots-back": ("steps out and back in by `..`", "/v1/files/../responses"),
    "path-encoded-dots": ("steps out by %2e%2e", "/v1/%2e%2e/v1/responses"),
    "path-encoded-slash": ("hides a slash as %2f", "/v1%2fresponses"),
    "path-encoded-letter": ("writes a letter of a path as %72", "/v1/%72esponses"),
    "path-twice-encoded": ("encodes twice", "/v1/%252e%252e/responses"),
    "path-double-slash": ("doubles a slash", "/v1//responses"),
    "path-leading-slashes": ("begins with two slashes, as if a host came", "//evil.example/v1/responses"),
    "path-parameter": ("adds a parameter after `;`", "/v1/responses;x=/files"),
    "path-nul": ("ends the path by an encoded NUL", "/v1/responses%00/files"),
    "path-unicode": ("writes a slash of another script", "/v1\u2215responses"),
    "path-backslash": ("uses backslashes", "/v1\\responses"),
    "path-trailing-slash": ("adds a slash", "/v1/responses/"),
    "path-capitals": ("writes the path in capitals", "/V1/RESPONSES"),
    "path-fragment": ("hides the rest behind a fragment", "/v1/files#/v1/responses"),
    "path-long": ("sends a path of 7,000 letters", "/v1/" + "a" * 7000),
}
ENDPOINTS = """GET /v1/files|POST /v1/files|GET /v1/files/file_1/content|POST /v1/batches|POST /v1/vector_stores
POST /v1/fine_tuning/jobs|POST /v1/containers|GET /v1/organization/usage/completions|GET /v1/responses/resp_1
DELETE /v1/responses/resp_1|POST /v1/responses/resp_1/cancel|POST /v1/responses/compact|GET /v1/models/other
DELETE /v1/models/ft-mine|POST /v1/embeddings|POST /v1/images/generations|POST /v1/audio/speech|POST /v1/assistants
POST /v1/threads|POST /v1/realtime/sessions|GET /v1/realtime?model=m|POST /v1/completions|POST /v1/moderations
POST /v1/uploads|POST /v1/evals|POST /v1/messages/batches|POST /v1/complete|GET /v1/skills|POST /v1/agents
GET /v1/conversations/conv_1|POST /v1/conversations|GET /v1/chat/completions|PUT /v1/responses|PATCH /v1/responses
OPTIONS /v1/responses|TRACE /v1/responses|GET /metrics|GET /|GET /.env|POST /api/hello|GET /api/hello"""


def tried(path: str) -> Attempted:
    async def run(stage: Stage) -> str:
        here = await front(stage)
        line = f"POST {path} HTTP/1.1"
        sent = here.head(f"Content-Length: {len(here.body())}", line=line) + b"\r\n" + here.body()
        statuses, got, _ = await here.bytes(sent)
        told = b"honed policy:" in got
        seen = f"answers {statuses}, {here.reached} requests at the provider"
        return holds(statuses in ([403], [400]) and told and not here.reached, seen)

    return run


for each, (what, where) in TRICKS.items():
    add(Attack(Area.GATEWAY, each, what, "403 or 400 that says policy, nothing sent", tried(where), False))


@attack(
    Area.GATEWAY,
    "asks the provider's other endpoints: files, batches, vector stores, fine-tuning, stored responses, …",
    expected="403 for each, nothing sent",
)
async def other_endpoints(stage: Stage) -> str:
    here = await front(stage)
    asked = [line.split(" ") for line in ENDPOINTS.replace("\n", "|").split("|")]
    statuses = [(await here.client.send(method, path, json={"model": "m"})).status for method, path in asked]
    let_through = [f"{asked[at]}" for at, status in enumerate(statuses) if status != 403]
    seen = f"{len(asked)} endpoints: {statuses.count(403)} times 403, {here.reached} requests at the provider"
    return holds(not let_through and not here.reached, seen)


@attack(Area.GATEWAY, "lists the provider's models", expected="the door's own answer, with one model")
async def list_of_models(stage: Stage) -> str:
    here = await front(stage)
    answer = await here.client.send("GET", "/v1/models")
    seen = f"{answer.status}, {answer.text.count('display_name')} model, {here.reached} requests at the provider"
    return holds(answer.text.count("display_name") == 1 and not here.reached, seen)


@attack(Area.GATEWAY, "adds a query that the provider might act on", expected="none but `beta=true` is passed on")
async def smuggled_query(stage: Stage) -> str:
    here = await front(stage, "messages")
    await here.client.send("POST", "/v1/messages?beta=true&model=big&api-version=x%0d%0aEvil:1", json=_message())
    paths = [request.path for request in here.provider.requests]
    return holds(paths == ["/v1/messages?beta=true"], f"the provider saw {paths}")


def _message() -> dict[str, object]:
    return {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}

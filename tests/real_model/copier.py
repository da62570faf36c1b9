"""The control: an "optimizer" without a model, which copies failed training cases into the skill as examples."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.real_model.families import Case

_FAILED = re.compile(r'<attempt task="([^"]+)" verdict="failed"')


class Copier:
    """An OpenAI-compatible endpoint; knows the training cases and their answers, as no real optimizer may."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> str:
        """Start; returns the base address."""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}/v1"

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("name", "")
        prompt = "\n".join(_text(message["content"]) for message in body["messages"])
        reply = json.dumps(self._reply(schema, prompt)) if schema else "OK"
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(reply) // 4, "total_tokens": 0}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
        return web.json_response(
            {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
            | {"usage": usage}
        )

    def _reply(self, schema: str, prompt: str) -> dict[str, Any]:
        if schema == "rank":
            return {"reasoning": "first ones", "selected": [0]}
        if schema == "merge":
            return {"reasoning": "nothing to merge", "edits": []}
        failed = list(dict.fromkeys(_FAILED.findall(prompt)))[:4]
        if schema != "reflect_failures" or not failed:
            return {"patterns": [], "reasoning": "nothing failed", "edits": []}
        examples = "\n\n".join(f"{self._cases[task].prompt} {self._cases[task].answer}" for task in failed)
        edit = {
            "op": "append",
            "target": "",
            "content": f"Answer like this:\n\n{examples}",
            "rationale": "copied failed cases",
            "evidence": failed,
        }
        return {"patterns": [], "reasoning": "copy", "edits": [edit]}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)

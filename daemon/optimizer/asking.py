"""Ask the optimizer model, once for each question: replies are journaled, without secrets, before they are used.

A reply that does not parse is an answer too (it was paid for): it is journaled as such and dropped aloud.
A provider that fails stops the run.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import structlog
from pydantic import BaseModel

from daemon.budget.purse import OpenPurse, Purse
from daemon.journal.journal import Journal
from daemon.optimizer.prompts.render import Prompt
from daemon.redaction import redact_value
from daemon.rollouts.stop import RunStopped
from harnesses.models.client import ChatMessage, ModelClient, ModelRequest
from harnesses.models.structured import BadReply, ask
from sandboxes.gateway.policy import ProviderError, ProviderFailure, Usage

M = TypeVar("M", bound=BaseModel)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Answer(Generic[M]):
    """A parsed reply, or why there is none."""

    reply: M | None
    error: str
    usage: Usage


class Optimizer:
    """The optimizer model within one run."""

    def __init__(
        self,
        client: ModelClient,
        journal: Journal,
        run_id: str,
        *,
        max_output_tokens: int = 8192,
        temperature: float | None = None,
        workers: int = 4,
        purse: Purse | None = None,
    ) -> None:
        self._client = client
        self._journal = journal
        self._run_id = run_id
        self._max_output_tokens = max_output_tokens
        self._temperature = temperature
        self._slots = asyncio.Semaphore(workers)
        self._purse = purse or OpenPurse()

    async def ask(self, place: str, role: str, schema: type[M], *, system: str, user: str | Prompt) -> Answer[M]:
        """Ask at a place (`step/phase/ordinal`), or read back what was answered there to exactly this prompt.

        Raises `RunStopped` if the provider fails, and `BudgetReached` before a request that may not be paid.
        """
        prompt = user if isinstance(user, Prompt) else Prompt(user)
        request = ModelRequest(
            system=system,
            messages=(ChatMessage("user", prompt.text, prompt.stable),),
            schema=_schema(schema),
            schema_name=role,
            max_output_tokens=self._max_output_tokens,
            temperature=self._temperature,
        )
        digest = self._digest(request)
        found = await self._journal.find_reply(self._run_id, place, digest)
        if found is None:
            async with self._slots, self._purse.spending("optimizer") as spend:
                found = redact_value(await self._paid(request, schema))
                spend.usage = Usage(**found["usage"])
            await self._journal.save_reply(self._run_id, place, digest, found)
        usage = Usage(**found["usage"])
        if found["error"]:
            log.warning("optimizer reply dropped", place=place, role=role, error=found["error"])
            return Answer(None, f"{place}: {found['error']}", usage)
        return Answer(schema.model_validate(found["reply"]), "", usage)

    def _digest(self, request: ModelRequest) -> str:
        whole = {"provider": self._client.provider, "model": self._client.model, **asdict(request)}
        return "sha256:" + hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    async def _paid(self, request: ModelRequest, schema: type[M]) -> dict[str, Any]:
        try:
            answer = await ask(self._client, request, schema)
        except BadReply as bad:
            return self._row(None, " ".join(str(bad).split()), bad.usage)
        except ProviderError as error:
            if error.kind is ProviderFailure.CONTEXT_LENGTH:  # this prompt's own fault: the others may go on
                return self._row(None, f"the prompt is too long: {error}", Usage())
            msg = f"the optimizer model failed: {error}"
            raise RunStopped(msg) from error
        return self._row(answer.value.model_dump(mode="json"), "", answer.usage)

    def _row(self, reply: dict[str, Any] | None, error: str, usage: Usage) -> dict[str, Any]:
        """A reply as it is journaled."""
        return {"reply": reply, "error": error, "usage": asdict(usage), "model": self._client.model}


@functools.cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """A reply's JSON schema, built once."""
    return model.model_json_schema()

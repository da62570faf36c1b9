"""One attempt's door: it checks a request against the policy, relays it, and keeps the book.

The order of checks is fixed: head, path, dialect, token, body, model, content, caps. Bodies and keys are never logged.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.buffers import AllBuffers, DoorBuffers, Held
from sandboxes.gateway.cleaning import clean
from sandboxes.gateway.dialects import Dialect, Refusal, error_json, final_status, route, shown
from sandboxes.gateway.headers import presented, presents
from sandboxes.gateway.heard import Answered, Heard, unheard
from sandboxes.gateway.ledger import Ledger, Reserve
from sandboxes.gateway.listener import Listener
from sandboxes.gateway.policy import DoorPolicy, Provider, ProviderFailure, Tally
from sandboxes.gateway.relay import Note, Relay, failed_answer, reserve_for
from sandboxes.gateway.requests import read_json
from sandboxes.gateway.tokens import Tokens
from sandboxes.gateway.upstream import UpstreamClient, UpstreamFailed
from sandboxes.guard import finish

log = structlog.get_logger(__name__)


class ModelDoor:
    """A `Door` onto a real provider. Made by `ModelGateway.open`."""

    def __init__(
        self,
        attempt_id: str,
        policy: DoorPolicy,
        client: UpstreamClient,
        heard: Heard = unheard,
        *,
        bounds: Bounds,
        buffers: AllBuffers,
        tokens: Tokens,
    ) -> None:
        self._attempt_id = attempt_id
        self._policy = policy
        self._heard = heard
        self._ledger = Ledger(policy)
        self._bounds = bounds
        self._buffers = DoorBuffers(buffers, bounds)
        self._tokens = tokens
        self._relay = Relay(policy, self._ledger, client)
        self._token = self._tokens.new(attempt_id)
        self._revoked = False
        self._listener: Listener | None = None
        self._socket = Path()

    @property
    def socket(self) -> Path:
        """Host path of the socket."""
        return self._socket

    @property
    def token(self) -> str:
        """The dummy key that requests must carry."""
        return self._token

    async def listen(self, sockets: Path) -> None:
        """Open the socket below `sockets`; raises `SandboxError`. Cancelled, it is there to be closed all the same."""
        await finish(self._listen(sockets))

    def tally(self) -> Tally:
        """What went through so far."""
        return self._ledger.tally

    async def close(self) -> Tally:
        """Revoke, to the end also when cancelled; safe to call twice."""
        self._revoked = True
        listener, self._listener = self._listener, None
        if listener is not None:
            await finish(self._cut(listener))
        return self._ledger.tally

    async def _cut(self, listener: Listener) -> None:
        running = await listener.close()
        self._tokens.ended(self._token)
        if running:
            log.info("requests cut at the end of the attempt", attempt=self._attempt_id, requests=running)

    async def _listen(self, sockets: Path) -> None:
        self._listener = await Listener.start(sockets, self._handle, self._malformed, self._bounds)
        self._socket = self._listener.socket

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        started = time.monotonic()
        note = Note()
        try:
            return await self._serve(request, note)
        except Refusal as refusal:
            return self._refused(request, refusal, note)
        except RecursionError:  # the body is read by recursion, and no CLI's request nests like that
            too_deep = Refusal("body: nested too deeply", "the request's body nests too deeply")
            return self._refused(request, too_deep, note)
        except UpstreamFailed as failure:
            self._ledger.failed(failure.kind, failure.line)
            note.failure = failure.kind
            return failed_answer(self._policy.upstream, failure, note)
        except Exception as error:  # a fault of ours must not look like the agent's, nor be retried
            return self._our_fault(error, note)
        finally:
            seconds = time.monotonic() - started
            self._log(request, note, seconds)
            self._tell(note, seconds)

    async def _serve(self, request: web.BaseRequest, note: Note) -> web.StreamResponse:
        path = self._path(request)
        if request.method == "HEAD" and path == "/api/hello":
            return web.Response()
        dialect = note.dialect = route(request.method, path)
        listing = request.method == "GET" and path.removeprefix("/v1") == "/models"
        if dialect is None and not listing:
            line = shown(f"{request.method} {path}", 100)
            raise Refusal(f"path: {shown(path, 100)}", f"{line} is not served here", status=403)
        if dialect is not None and dialect.provider != self._policy.upstream.provider:
            raise Refusal(f"dialect: {dialect}", f"this attempt speaks {self._policy.upstream.provider}, not {dialect}")
        self._check_token(request)
        if dialect is None:
            return web.json_response(_models(self._policy))
        async with self._buffers.request() as held:
            payload, reserve = await self._prepared(request, dialect, held)
            return await self._relay.run(request, dialect, payload, reserve, note)

    def _path(self, request: web.BaseRequest) -> str:
        """The path as it was sent: what would have to be decoded or resolved first is no path of ours."""
        if self._revoked:
            log.warning("late request refused", attempt=self._attempt_id)
            raise Refusal("revoked", "this attempt has ended and its key is revoked", status=403)
        if self._ledger.refused >= self._bounds.refusals:
            raise Refusal("too many refusals", "this attempt was refused too often and is served no more", status=403)
        if sum(len(name) + len(value) + 4 for name, value in request.raw_headers) > self._bounds.head_bytes:
            limit = self._bounds.head_bytes
            raise Refusal("head: too large", f"request heads are limited to {limit} bytes", status=431)
        if "Upgrade" in request.headers:
            raise Refusal("upgrade", "other protocols than HTTP/1.1 are not served", status=403)
        return request.raw_path.partition("?")[0]

    def _check_token(self, request: web.BaseRequest) -> None:
        if presents(request.headers, self._token):
            return
        owners = {self._tokens.owner(text) for text in presented(request.headers)} - {""}
        for owner in sorted(owners):
            log.warning("another attempt's key refused", attempt=self._attempt_id, key_of=owner)
        raise Refusal("token", "the request does not carry this attempt's own key", status=401)

    async def _prepared(self, request: web.BaseRequest, dialect: Dialect, held: Held) -> tuple[bytes, Reserve]:
        """Read, check and clean the body. Its bytes alone are kept while it is relayed: parsed, it is far larger."""
        body = await read_json(request, held, limit=self._bounds.body_bytes, within_s=self._bounds.body_s)
        self._check_model(body)
        self._ledger.removed(clean(dialect, body, self._policy.provider_tools))
        try:
            payload = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        except ValueError:  # a number like 1e999
            raise Refusal("body: not JSON", "the request's body holds a number beyond all bounds") from None
        await held.grow(len(payload))
        return payload, reserve_for(dialect, body, payload)

    def _check_model(self, body: dict[str, Any]) -> None:
        asked = body.get("model")
        if asked != self._policy.model:
            name = shown(str(asked), 100)
            why = f"this attempt may use the model {self._policy.model!r} only, not {name!r}"
            raise Refusal(f"model: {name}", why)

    def _malformed(self, what: str) -> web.Response:
        """Note a request that is no HTTP; returns what it is told."""
        self._ledger.refuse(what)
        log.debug("model request", attempt=self._attempt_id, refusal=what)
        told = f"honed policy: this is no request that is served here ({what})"
        body = error_json(self._policy.upstream.provider, told, code="honed_policy", status=400)
        return web.json_response(body, status=400, headers={"x-should-retry": "false"})

    def _refused(self, request: web.BaseRequest, refusal: Refusal, note: Note) -> web.Response:
        self._ledger.refuse(refusal.what)
        note.refusal = refusal.what
        dialect = route(request.method, request.raw_path.partition("?")[0])
        provider: Provider = dialect.provider if dialect else self._policy.upstream.provider
        status = refusal.status or final_status(provider)
        body = error_json(provider, refusal.message, code="honed_policy", status=status)
        return web.json_response(body, status=status, headers={"x-should-retry": "false"})

    def _our_fault(self, error: Exception, note: Note) -> web.Response:
        note.failure = ProviderFailure.SERVER_ERROR
        # Only the type: a traceback may show the request, and headers with the key.
        log.error("gateway fault", attempt=self._attempt_id, error=type(error).__name__, where=_where(error))
        line = f"the gateway itself failed ({type(error).__name__} at {_where(error)}): please report it"
        self._ledger.failed(ProviderFailure.SERVER_ERROR, line)
        provider = self._policy.upstream.provider
        status = final_status(provider)
        body = error_json(provider, line, code="honed_fault", status=status)
        return web.json_response(body, status=status, headers={"x-should-retry": "false"})

    def _tell(self, note: Note, seconds: float) -> None:
        """Tell of a request that a provider was asked."""
        if note.failure is not None:
            outcome = note.failure.value
        elif note.status is not None:
            outcome = "ok"
        elif note.usage.tokens:
            outcome = "cut"
        else:
            return
        provider = self._policy.upstream.provider
        self._heard(Answered(provider, self._policy.model, outcome, seconds, note.usage, note.retries))

    def _log(self, request: web.BaseRequest, note: Note, seconds: float) -> None:
        log.debug(
            "model request",
            attempt=self._attempt_id,
            dialect=str(note.dialect or shown(request.raw_path, 40)),
            status=note.status,
            refusal=note.refusal,
            failure=None if note.failure is None else note.failure.value,
            input_tokens=note.usage.input_tokens,
            output_tokens=note.usage.output_tokens,
            estimated=note.estimated,
            retries=note.retries,
            provider_request=note.provider_request,
            ms=round(seconds * 1000),
        )


def _models(policy: DoorPolicy) -> dict[str, Any]:
    entry = {"id": policy.model, "object": "model", "type": "model", "display_name": policy.model, "owned_by": "honed"}
    return {"object": "list", "data": [entry], "models": [], "has_more": False}


def _where(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"

"""The simulated model as a loopback server that speaks OpenAI Responses, Chat Completions and Anthropic Messages.

Stateless: every answer depends on the request body alone, so retries, kills and parallel runs change nothing. It binds
127.0.0.1 and no other address, takes any key, and logs none.

Standalone: `python -m daemon.demo.server --port N` serves until it is told to stop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from daemon.demo import optimizer
from daemon.demo.conversation import Conversation, Reply, from_chat, from_messages, from_responses
from daemon.demo.target import act
from daemon.demo.wire_anthropic import message_events, message_object
from daemon.demo.wire_openai import Event, chat_events, chat_object, responses_events, responses_object

HOST = "127.0.0.1"
_MAX_BODY = 64 * 1024 * 1024


def reply_to(conversation: Conversation) -> Reply:
    """What the simulated model answers: the optimizer's prompts as optimizer, all else as target."""
    prompt = "".join(conversation.texts)  # a prompt may come in blocks, of which the first is to be cached
    if optimizer.is_optimizer_prompt(prompt):
        return Reply(optimizer.answer(prompt, conversation.schema_name))
    return act(conversation)


class SimulatedModel:
    """The server: `async with SimulatedModel() as model: … model.openai_base_url …`."""

    def __init__(self, port: int = 0) -> None:
        self._wanted = port
        self._port: int | None = None
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port it listens on; raises `RuntimeError` before `start`."""
        if self._port is None:
            msg = "the simulated model is not started"
            raise RuntimeError(msg)
        return self._port

    @property
    def openai_base_url(self) -> str:
        """For `base_url` with provider `openai`."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """For `base_url` with provider `anthropic`."""
        return f"http://{HOST}:{self.port}"

    async def start(self) -> None:
        """Listen. Raises `OSError` if the port is taken."""
        runner = web.AppRunner(model_application(), access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, self._wanted)
            await site.start()
        except BaseException:
            await runner.cleanup()
            raise
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the listener and every connection; stopping twice is fine."""
        runner, self._runner, self._port = self._runner, None, None
        if runner is not None:
            await runner.cleanup()

    async def __aenter__(self) -> SimulatedModel:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()


def model_application(middlewares: Iterable[Middleware] = ()) -> web.Application:
    """The server's routes, for whoever serves them himself; `middlewares` come before each."""
    application = web.Application(client_max_size=_MAX_BODY, middlewares=middlewares)
    application.router.add_post("/v1/responses", _handler(from_responses, responses_object, _responses_stream))
    application.router.add_post("/v1/chat/completions", _handler(from_chat, chat_object, _chat_stream))
    application.router.add_post("/v1/messages", _handler(from_messages, message_object, _messages_stream))
    application.router.add_get("/v1/models", _models)
    return application


def _handler(
    read: Callable[[dict[str, Any]], Conversation],
    whole: Callable[[Conversation, Reply], dict[str, Any]],
    stream: Callable[[dict[str, Any], Conversation, Reply], Iterable[Event]],
) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
            conversation = read(body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return _refusal(f"the request is not understood: {type(error).__name__}: {error}")
        reply = reply_to(conversation)
        if not body.get("stream"):
            return web.json_response(whole(conversation, reply))
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-cache"})
        await response.prepare(request)
        for name, data in stream(body, conversation, reply):
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            await response.write(f"{head}data: {text}\n\n".encode())
        await response.write_eof()
        return response

    return handle


def _responses_stream(body: dict[str, Any], conversation: Conversation, reply: Reply) -> Iterable[Event]:
    return responses_events(conversation, reply)


def _chat_stream(body: dict[str, Any], conversation: Conversation, reply: Reply) -> Iterable[Event]:
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return chat_events(conversation, reply, include_usage=usage)


def _messages_stream(body: dict[str, Any], conversation: Conversation, reply: Reply) -> Iterable[Event]:
    return message_events(conversation, reply)


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": []})


def _refusal(message: str) -> web.Response:
    error = {"type": "invalid_request_error", "message": message, "code": None, "param": None}
    return web.json_response({"type": "error", "error": error}, status=400)


async def _serve(port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with SimulatedModel(port) as model:
        print(f"simulated model at {model.anthropic_base_url} (OpenAI: {model.openai_base_url})", flush=True)
        await stop.wait()


def main() -> None:
    """Serve from the command line."""
    parser = argparse.ArgumentParser(description="Serve honed's simulated model on the loopback interface.")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()

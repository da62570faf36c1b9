from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator

import pytest

from daemon.tasks.scorers.bounded import MIB, Worker
from daemon.tasks.scorers.scorer import VerifierError
from tests.support.processes import child_ids, children, runs
from tests.support.waiting import until

HANGS = {"pattern": "(?:a+)+$", "text": "a" * 64 + "!"}


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(512 * MIB)
    yield made
    made.close()


def pid(worker: Worker) -> int:
    assert worker._child is not None
    return worker._child.pid


async def test_one_child_answers_request_after_request(worker: Worker) -> None:
    first = await worker.ask("search", pattern="b+", text="abbc")
    before = pid(worker)
    second = await worker.ask("search", pattern="x", text="abbc")
    assert (first.result["found"], second.result["found"]) == ("bb", None)
    assert pid(worker) == before


async def test_requests_at_the_same_time_get_each_its_own_answer(worker: Worker) -> None:
    texts = [f"<{number}>" for number in range(40)]
    replies = await asyncio.gather(*(worker.ask("search", pattern=r"\d+", text=text) for text in texts))
    assert [reply.result["found"] for reply in replies] == [str(number) for number in range(40)]


async def test_what_takes_too_long_costs_one_child_and_the_next_request_nothing(worker: Worker) -> None:
    reply = await worker.ask("search", 0.2, **HANGS)
    assert (reply.death, reply.said) == ("time", ())
    with pytest.raises(VerifierError, match="it took too long"):
        _ = reply.result
    assert (await worker.ask("search", pattern="b", text="b")).result["found"] == "b"


async def test_processor_time_is_counted_by_request(worker: Worker) -> None:
    pattern, text = "(?:a+)+$", "a" * 17 + "!"
    began = time.process_time()
    assert re.search(pattern, text) is None
    enough_s = 10 * (time.process_time() - began)
    for _ in range(30):
        busy = await worker.ask("search", enough_s, pattern=pattern, text=text)
        assert busy.death == ""


async def test_a_child_that_dies_is_told_from_one_that_is_slow(worker: Worker) -> None:
    await worker.ask("search", pattern="b", text="b")
    await until(lambda: not children(pid(worker)))  # it has answered, and ends only then
    asked = asyncio.create_task(worker.ask("search", 30.0, **HANGS))
    await until(lambda: children(pid(worker)))  # the copy that does the request
    [copy] = child_ids(pid(worker))
    os.kill(pid(worker), signal.SIGSEGV)
    reply = await asked
    assert reply.death == "crash"
    with pytest.raises(VerifierError, match="it crashed"):
        _ = reply.result
    await until(lambda: not runs(copy))  # else it goes on for as long as it was given


async def test_a_child_that_died_between_requests_is_replaced(worker: Worker) -> None:
    await worker.ask("search", pattern="b", text="b")
    gone = pid(worker)
    os.kill(gone, signal.SIGKILL)
    assert worker._child is not None
    worker._child.wait()
    assert (await worker.ask("search", pattern="b", text="b")).result["found"] == "b"
    assert pid(worker) != gone


async def test_a_fault_in_the_child_is_told_and_the_child_stays(worker: Worker) -> None:
    reply = await worker.ask("search", pattern="(", text="b")
    with pytest.raises(VerifierError, match=r"it failed: .*missing"):
        _ = reply.result
    assert (await worker.ask("search", pattern="b", text="b")).result["found"] == "b"


async def test_a_machine_that_stands_still_is_our_failure() -> None:
    slow = Worker(512 * MIB, wall_s=0.3)
    with pytest.raises(VerifierError, match="the machine is too busy"):
        await slow.ask("search", 30.0, **HANGS)
    assert slow._child is None


async def test_memory_is_bounded() -> None:
    small = Worker(128 * MIB)
    try:
        reply = await small.ask("check_json", 10.0, text="[" + "[]," * 2_000_000 + "[]]", schema=None, checks=[])
        with pytest.raises(VerifierError, match=r"it failed: MemoryError|it crashed"):
            _ = reply.result
    finally:
        small.close()


async def test_text_is_carried_as_it_is(worker: Worker) -> None:
    text = "line\u2028\r\nnext \udc80 \x00 é"
    assert (await worker.ask("search", pattern="(?s).+", text=text)).result["found"] == text

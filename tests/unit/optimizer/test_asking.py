"""Questions to the optimizer: journaled before use, read back, dropped aloud, or the end of the run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from daemon.budget.purse import OpenPurse, Spend
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import Payer
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Answer, Optimizer
from daemon.optimizer.prompts.render import Prompt
from daemon.optimizer.replies import RankReply
from daemon.rollouts.stop import RunStopped
from sandboxes.gateway.policy import ProviderError, ProviderFailure
from tests.support.optimizer import ScriptedOptimizer

GOOD = {"reasoning": "r", "selected": [1, 0]}


async def journal() -> MemoryJournal:
    memory = MemoryJournal()
    await memory.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    return memory


def scripted(*answers: Any) -> ScriptedOptimizer:
    waiting = list(answers)
    return ScriptedOptimizer(lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0])


async def ask(
    client: ScriptedOptimizer, memory: MemoryJournal, user: str = "u", place: str = "1/rank/0"
) -> Answer[RankReply]:
    return await Optimizer(client, memory, "r1").ask(place, "rank", RankReply, system="s", user=user)


async def test_a_reply_is_paid_for_once() -> None:
    client, memory = scripted(GOOD), await journal()
    first = await ask(client, memory)
    assert first.reply == RankReply.model_validate(GOOD)
    assert await ask(client, memory) == first
    assert len(client.requests) == 1


async def test_another_prompt_or_place_is_another_question() -> None:
    client, memory = scripted(GOOD), await journal()
    await ask(client, memory)
    await ask(client, memory, user="other")
    await ask(client, memory, place="2/rank/0")
    assert len(client.requests) == 3


async def test_the_request_asks_for_the_schema() -> None:
    client = scripted(GOOD)
    await ask(client, await journal())
    [request] = client.requests
    assert request.schema_name == "rank"
    assert request.schema is not None
    assert set(request.schema["properties"]) == {"reasoning", "selected"}
    assert request.system == "s"


async def test_a_reply_that_never_parses_is_dropped_aloud_and_not_bought_again() -> None:
    client, memory = scripted("no json at all"), await journal()
    answer = await ask(client, memory)
    assert answer.reply is None
    assert answer.error.startswith("1/rank/0: ")
    assert len(client.requests) == 2  # asked once more, with what was wrong
    assert answer.usage.requests == 2
    assert await ask(client, memory) == answer
    assert len(client.requests) == 2


async def test_a_reply_mended_at_the_second_asking_counts_with_both_costs() -> None:
    client, memory = scripted("{", GOOD), await journal()
    answer = await ask(client, memory)
    assert answer.reply == RankReply.model_validate(GOOD)
    assert answer.usage.requests == 2


async def test_a_provider_that_fails_stops_the_run_with_its_own_line() -> None:
    line = "openai (api.example.com): 401, check OPENAI_API_KEY"
    client, memory = scripted(ProviderError(ProviderFailure.AUTH, line, status=401)), await journal()
    with pytest.raises(RunStopped, match=r"the optimizer model failed: openai .* check OPENAI_API_KEY"):
        await ask(client, memory)
    client.reply = lambda _: GOOD
    assert (await ask(client, memory)).reply is not None


async def test_a_prompt_too_long_costs_its_own_answer_alone() -> None:
    client = scripted(ProviderError(ProviderFailure.CONTEXT_LENGTH, "openai: 200000 tokens"))
    answer = await ask(client, await journal())
    assert answer.reply is None
    assert "too long" in answer.error


async def test_where_the_shared_beginning_ends_is_told_to_the_client() -> None:
    client, memory = scripted(GOOD), await journal()
    optimizer = Optimizer(client, memory, "r1")
    await optimizer.ask("1/rank/0", "rank", RankReply, system="s", user=Prompt("shared and own", 7))
    assert [(m.content, m.stable) for m in client.requests[0].messages] == [("shared and own", 7)]


async def test_a_reply_is_found_by_the_whole_prompt_and_not_by_its_beginning() -> None:
    """What is cached decides cost alone: prompts that share a beginning are different questions."""
    client, memory = scripted(GOOD), await journal()
    optimizer = Optimizer(client, memory, "r1")
    for own in ("one", "two", "one"):
        await optimizer.ask("1/rank/0", "rank", RankReply, system="s", user=Prompt("shared " + own, 7))
    await optimizer.ask("1/rank/0", "rank", RankReply, system="another", user=Prompt("shared one", 7))
    assert len(client.requests) == 3


async def test_the_second_asking_keeps_the_shared_beginning() -> None:
    client, memory = scripted("{", GOOD), await journal()
    await Optimizer(client, memory, "r1").ask("1/rank/0", "rank", RankReply, system="s", user=Prompt("shared own", 7))
    first, second = client.requests
    assert second.messages[0] == first.messages[0]
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]


class Asked(OpenPurse):
    """Remembers who asked and what it used; refuses if told to."""

    def __init__(self, *, refuse: bool = False) -> None:
        super().__init__()
        self.refuse = refuse
        self.spent: list[tuple[str, int]] = []

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        if self.refuse:
            raise BudgetReached("day", "usd", 5.0, 5.25)
        spend = Spend()
        yield spend
        self.spent.append((payer, spend.usage.tokens))


async def test_the_budget_is_asked_before_a_request_and_told_after_it() -> None:
    client, memory, purse = scripted(GOOD), await journal(), Asked()
    optimizer = Optimizer(client, memory, "r1", purse=purse)
    for _ in range(2):
        await optimizer.ask("1/rank/0", "rank", RankReply, system="s", user="u")
    assert purse.spent == [("optimizer", 120)], "what is read back costs nothing"
    [reply] = await memory.replies("r1")
    assert reply.reply["model"] == "optimizer-1"


async def test_a_reply_that_cannot_be_used_is_paid_all_the_same() -> None:
    client, memory, purse = scripted("no json"), await journal(), Asked()
    answer = await Optimizer(client, memory, "r1", purse=purse).ask("1/rank/0", "rank", RankReply, system="s", user="u")
    assert answer.reply is None
    assert purse.spent == [("optimizer", answer.usage.tokens)]
    assert answer.usage.tokens >= 120


async def test_what_may_not_be_paid_is_not_asked() -> None:
    client, memory = scripted(GOOD), await journal()
    optimizer = Optimizer(client, memory, "r1", purse=Asked(refuse=True))
    with pytest.raises(BudgetReached, match=r"\[budget.day\] usd = 5.00 is used up \(5.25\)"):
        await optimizer.ask("1/rank/0", "rank", RankReply, system="s", user="u")
    assert client.requests == []
    assert await memory.replies("r1") == ()

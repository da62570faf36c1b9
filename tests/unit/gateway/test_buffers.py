"""What doors hold is bounded: a door is refused, all together wait, and what is given back is free again."""

from __future__ import annotations

import asyncio

import pytest

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.buffers import SMALL, AllBuffers, DoorBuffers
from sandboxes.gateway.dialects import Refusal


async def test_a_door_is_refused_what_goes_beyond() -> None:
    together = AllBuffers(10 * SMALL)
    door = DoorBuffers(together, Bounds(door_bytes=100))
    async with door.request() as one, door.request() as two:
        await one.grow(60)
        await one.grow(50)
        with pytest.raises(Refusal, match="larger than 100 bytes"):
            await two.grow(41)
        await two.grow(40)
    async with door.request() as three:
        await three.grow(100)
    assert together.held == 0


async def test_large_requests_wait_for_room_and_small_ones_never() -> None:
    together = AllBuffers(SMALL)
    one, two = (DoorBuffers(together, Bounds()) for _ in range(2))
    first, other = one.request(), two.request()
    async with other:
        async with first:
            await first.grow(2 * SMALL)
            assert together.held == SMALL
            async with two.request() as small:
                await small.grow(SMALL)
            waiting = asyncio.create_task(other.grow(SMALL + 1))
            await asyncio.sleep(0)
            assert not waiting.done()
        await waiting
        assert together.held == 1
    assert together.held == 0


async def test_only_so_many_requests_of_a_door_have_their_turn() -> None:
    door = DoorBuffers(AllBuffers(SMALL), Bounds(requests=1))
    async with door.request():
        waiting = asyncio.create_task(door.request().__aenter__())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting

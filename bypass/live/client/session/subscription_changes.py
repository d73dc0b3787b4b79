"""Subscriptions that are to have other areas, until the broker has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bypass.core.client import Client
from bypass.live.client.session.pending_replies import PendingReplies
from bypass.live.client.session.resubscriptions import Resubscriptions
from bypass.ports.subscriptions import Registered, SubHandle


class SubscriptionChanges:
    """Changes subscriptions in place, each of them once at a time.

    `subscribing` are those that the broker has not answered yet, `again` those that it is told of again;
    `check` raises for what it could not read.
    """

    def __init__(
        self, subscribing: PendingReplies, again: Resubscriptions, check: Callable[[Registered], None]
    ) -> None:
        self.pending = PendingReplies()
        self._subscribing = subscribing
        self._again = again
        self._check = check
        self._before: dict[int, Registered] = {}

    async def ready(self, handle: SubHandle) -> None:
        """Wait until the broker has answered what it was asked about a handle before."""
        number = handle.id
        while (answer := self._subscribing.answer(number) or self.pending.answer(number)) is not None:
            await asyncio.wait((answer,))

    def begin(self, client: Client, changed: Registered) -> asyncio.Future[None]:
        """Have a subscription changed, and give the broker's answer. Raises UnknownHandle, and what `check`
        raises: then nothing is changed."""
        before, number = client.registered(changed.handle), changed.handle.id
        self._check(changed)
        self._again.forget(number)
        answer = self.pending.ask(number)
        self._before[number] = before
        client.put(changed)
        if client.network.silent:
            self.given(number)
        return answer

    def given(self, number: int) -> bool:
        """The broker has the change: gives whether it was asked for."""
        self._before.pop(number, None)
        return self.pending.give(number)

    def refused(self, client: Client, number: int, error: Exception) -> bool:
        """The broker goes on with the areas before: gives whether it was asked for others."""
        before = self._before.pop(number, None)
        if before is None:
            return False
        client.put_back(before)
        self.pending.refuse(number, error)
        return True

    def end(self, why: Exception) -> None:
        """There will be no more answers."""
        self._before.clear()
        self.pending.refuse_all(why)

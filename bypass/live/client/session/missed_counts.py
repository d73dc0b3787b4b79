"""Events for a session that brokers had to give up, by reason."""

from __future__ import annotations

from collections import Counter

from bypass.protocol.session import Missed, Welcome

NOT_SAID = "not said"
"""The reason for all events that were missed, at a broker that only counts them."""


class MissedCounts:
    """Adds up what brokers say about one session, and about those before it that they have forgotten."""

    def __init__(self) -> None:
        self._now: Counter[str] = Counter()
        self._before: Counter[str] = Counter()

    def welcomed(self, welcome: Welcome, forgotten: bool) -> None:
        """Take over the counts of a welcome; the session before was `forgotten`, or it goes on."""
        if forgotten:  # a broker that knows the client's life has carried counts over into the new session
            carried = {each.reason for each in welcome.missed_by}
            self._before += Counter({r: n for r, n in self._now.items() if r not in carried})
        self._now = Counter({each.reason: each.count for each in welcome.missed_by})
        if not self._now and welcome.missed:
            self._now[NOT_SAID] = welcome.missed

    def say(self, missed: Missed) -> None:
        """Take over the count for one reason."""
        self._now[missed.reason] = missed.count

    def by_reason(self) -> dict[str, int]:
        """Give all events that were missed since the beginning."""
        return dict(self._before + self._now)

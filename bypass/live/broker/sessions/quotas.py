"""Quotas: how much each key may ask of a live broker, in however many sessions and connections it does so.

A packet is charged before it is read: its bytes, and as many messages as are in it. What is over a rate is
answered with a refusal, for as much again; what comes beyond that is not even read.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from bypass.live.broker.config import Limits

BURST_S = 2.0
"""At once, a key may send as much as in so many seconds."""

CONNECTIONS_S = 10.0
SPARE_CONNECTIONS = 20
"""In so many seconds, or at once, a key may make one connection for each session, and some more."""


SAME_MACHINE = ("127.", "::1", "::ffff:127.", "localhost")
"""How ZeroMQ begins the addresses of peers on the same machine."""


class Charge(Enum):
    """The outcome of charging something to an account."""

    TAKEN = auto()
    REFUSED = auto()
    UNREAD = auto()


class Bucket:
    """Tokens that come at `rate` a second, up to `burst`, and as many are there at first.

    With the rate 0 there is no end of them. In any time, no more are taken than `burst` and what comes in
    that time. Time must not go back.
    """

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = self._left = burst
        self._at = now

    def take(self, now: float, wanted: int) -> int:
        """Take so many tokens, or as many whole ones as there are: gives how many."""
        if not self._rate:
            return wanted
        left = self._fill(now)
        taken = wanted if wanted <= left else int(left)
        self._left = left - taken
        return taken

    def take_all(self, now: float, wanted: int) -> bool:
        """Take so many tokens if there are, else none: gives whether there were."""
        if not self._rate:
            return True
        left = self._fill(now)
        if wanted > left:
            return False
        self._left = left - wanted
        return True

    def is_full(self, now: float) -> bool:
        """Whether it is as it was at first."""
        return not self._rate or self._fill(now) >= self._burst

    def _fill(self, now: float) -> float:
        left = self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        return left


class Account:
    """The account of one key: its `sessions`, bytes of its events in the store (`stored`), `filters` and
    `subscription_bytes` of all its subscriptions, and bytes that came and were not read yet (`waiting`)."""

    __slots__ = (
        "_barred_until",
        "_bytes",
        "_connections",
        "_messages",
        "_refused",
        "_refused_bytes",
        "filters",
        "name",
        "sessions",
        "stored",
        "subscription_bytes",
        "waiting",
    )

    def __init__(self, name: str, limits: Limits, now: float) -> None:
        self.name = name
        self.sessions = 0
        self.stored = 0
        self.filters = 0
        self.subscription_bytes = 0
        self.waiting = 0
        self._barred_until = now
        rate, byte_rate = limits.client_rate, limits.client_byte_rate
        connections = limits.sessions_per_key + SPARE_CONNECTIONS
        # A packet must not be over what is there in the best case.
        most = max(BURST_S * byte_rate, float(limits.packet_bytes))
        self._messages = Bucket(rate, max(BURST_S * rate, 1.0), now)
        self._refused = Bucket(rate, max(BURST_S * rate, 1.0), now)
        self._bytes = Bucket(byte_rate, most, now)
        self._refused_bytes = Bucket(byte_rate, most, now)
        self._connections = Bucket(connections / CONNECTIONS_S, connections, now)

    def charge_bytes(self, now: float, size: int) -> Charge:
        """Charge a packet of so many bytes."""
        if self._bytes.take_all(now, size):
            return Charge.TAKEN
        return Charge.REFUSED if self._refused_bytes.take_all(now, size) else Charge.UNREAD

    def charge_messages(self, now: float, count: int) -> int:
        """Charge so many messages: gives how many of them, the first ones, are taken."""
        return self._messages.take(now, count)

    def charge_refusals(self, now: float, count: int) -> int:
        """Charge answers to so many messages that are not taken: gives how many of them, the first ones, are
        answered."""
        return self._refused.take(now, count)

    def charge_connection(self, now: float) -> bool:
        """Charge a connection: gives whether there may be one more."""
        return now >= self._barred_until and self._connections.take_all(now, 1)

    def excess(self, limits: Limits, filters: int = 0, size: int = 0) -> str:
        """Say what the key has too much of with so many more filters in so many bytes; empty: nothing."""
        filters, size = self.filters + filters, self.subscription_bytes + size
        if filters > limits.filters_per_key:
            return (
                f"{filters} filters of {self.name}: expected at most {limits.filters_per_key} of one key"
                " (filters_per_key)"
            )
        if size > limits.subscription_bytes_per_key:
            return (
                f"subscriptions of {size} bytes of {self.name}: expected at most"
                f" {limits.subscription_bytes_per_key} of one key (subscription_bytes_per_key)"
            )
        return ""

    def bar(self, now: float) -> None:
        """Let there be no further connection for a while."""
        self._barred_until = now + BURST_S

    def is_idle(self, now: float) -> bool:
        """Whether a new account would be the same."""
        return (
            not self.sessions
            and not self.stored
            and not self.waiting
            and now >= self._barred_until
            and self._messages.is_full(now)
            and self._refused.is_full(now)
            and self._bytes.is_full(now)
            and self._refused_bytes.is_full(now)
            and self._connections.is_full(now)
        )


class Quotas:
    """The accounts of all keys, by name. Those that are idle are forgotten by `tidy`, so that there are no
    more than there are sessions, keys with stored events, and others who said something just now.

    An open broker has no keys, and anybody there can take any name. It charges a client's address instead. On
    its own machine, which all share, it charges each session, and each connection that has none.
    """

    def __init__(self, limits: Limits, open: bool, now: Callable[[], float]) -> None:  # noqa: A002
        self._limits = limits
        self._open = open
        self._now = now
        self._accounts: dict[str, Account] = {}
        self._stored: dict[int, tuple[Account, int]] = {}  # by place in the log

    def __len__(self) -> int:
        return len(self._accounts)

    def newcomer(self, key: str, address: str) -> Account | None:
        """The account of a connection that is about to be made: `key` is the name of its key. None if it will
        have one of its own."""
        if not self._open:
            return self._account(key)
        name = _address(address)
        return self._account(name) if name else None

    def stranger(self, key: str, route: bytes, address: str) -> Account:
        """The account of a connection that has no session: `key` is the name of its key."""
        if not self._open:
            return self._account(key)
        return self._account(_address(address) or f"connection {route.hex()}")

    def owner(self, session: str, address: str = "") -> Account:
        """The account of a session, which has the name of its key, maybe with more behind a slash; `address`
        is where its client is, if it is connected."""
        if not self._open:
            return self._account(session.partition("/")[0])
        return self._account(_address(address) or f"session {session}")

    def _account(self, name: str) -> Account:
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = Account(name, self._limits, self._now())
        return account

    def tidy(self) -> None:
        """Forget accounts that are idle."""
        now = self._now()
        for account in [each for each in self._accounts.values() if not each.sessions]:
            if account.is_idle(now):
                del self._accounts[account.name]

    def restored(self, seq: int, owner: str, size: int) -> None:
        """An event of so many bytes is in the store, from before; `owner` is the name of its account."""
        self.stored(seq, self._account(owner), size)

    def stored(self, seq: int, account: Account, size: int) -> None:
        """An event of so many bytes is in the store, at this place in the log."""
        account.stored += size
        self._stored[seq] = (account, size)

    def released(self, seq: int) -> None:
        """It is not any more; no effect if it never was."""
        account, size = self._stored.pop(seq, (None, 0))
        if account is not None:
            account.stored -= size


def _address(address: str) -> str:
    """The name of an address's account; empty if it is none, or one of this machine."""
    return "" if not address or address.startswith(SAME_MACHINE) else f"address {address}"

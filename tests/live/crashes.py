"""Processes that are killed while they work, and what must hold all the same.

A broker, publishers and subscribers, each a process of its own, and an operator who exchanges the filter
scheme again and again. Everybody stands at one place, so that it is known who must get what: every event that
the broker has acknowledged reaches every subscriber whose subscription it had acknowledged before the event
was published, once in each life of the subscriber's process.
"""

from __future__ import annotations

import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from bypass.live.keys import create_broker_keys, create_client_keys
from bypass.live.operator import Operator, OperatorFailed
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
from tests.live.crash_clients import HERE, RADIUS
from tests.live.crash_faults import FAULTS
from tests.live.crash_ledger import BROKER, Key, Ledger
from tests.live.crash_operations import Operations
from tests.live.crash_processes import PATIENCE, Child, until

FLAGS = {name: scheme.flag for name, scheme in Registry().kinds(FILTER).items()}
MOMENTS = ("any", "publish", "transition", "start", "commit")
"""When somebody is killed: at any time, right after an event was sent, while a plan is executed, while it
starts, and while the store is written."""


class Killed(NamedTuple):
    """One process that was killed."""

    at: float
    name: str
    role: str
    moment: str


class World:
    """A broker, so many publishers and subscribers, and an operator, in a folder; `seed` is the monkey's."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        publishers: int = 2,
        subscribers: int = 2,
        encrypted: bool = False,
        sync: Literal["full", "normal"] = "full",
        store: Path | None = None,
        size: int = 0,
    ) -> None:
        self.rng = random.Random(seed)
        self.kills: list[Killed] = []
        self.recoveries: list[float] = []
        self.faults: list[str] = []
        self.clock_ahead = 0.0  # of the broker's clock from its next start on, in s
        self.folder = folder
        self.store = store or folder / "store.db"
        self.endpoint = f"tcp://127.0.0.1:{_free_port()}" if encrypted else f"ipc://{folder}/broker.sock"
        self._encrypted = encrypted
        self._configure(sync)
        self.broker = Child(BROKER, BROKER, folder, self._broker_command)
        self.clients = [
            *(self._client("subscriber", f"subscriber{n}", size) for n in range(subscribers)),
            *(self._client("publisher", f"publisher{n}", size) for n in range(publishers)),
        ]
        self.ledger = Ledger({client.name: client.role for client in self.clients}, folder)
        self._listeners = sorted(map(self._session, self.ledger.subscribers))
        sessions = [self._session(client.name) for client in self.clients]
        self.operations = Operations(self.endpoint, self._keys("admin"), sessions, seed)
        self._starting_s = 1.0  # how long a process takes to be of use

    def _configure(self, sync: str) -> None:
        region = {
            "area": [0, 0, 1000, 1000],
            "places": [{"name": "square", "x": HERE[0], "y": HERE[1], "radius": 2 * RADIUS}],
        }
        settings: dict[str, Any] = {
            "listen": [self.endpoint],
            "store": str(self.store),
            "sync": sync,
            "region": region,
            "open": not self._encrypted,
        }
        if self._encrypted:
            create_broker_keys(self.folder / "keys")
            create_client_keys(self.folder / "keys", "admin", ["admin"])
            create_client_keys(self.folder / "keys", "client")
        (self.folder / "broker.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    def _session(self, name: str) -> str:
        """What the broker calls a client."""
        return f"client/{name}" if self._encrypted else name

    def _keys(self, name: str) -> Path | None:
        return self.folder / "keys" / f"{name}.key" if self._encrypted else None

    def _broker_command(self, life: int) -> list[str]:
        clock = f"import time; real = time.time; time.time = lambda: real() + {self.clock_ahead!r}"
        main = f"{clock}; from bypass.cli import main; main()"
        return [sys.executable, "-c", main, "broker", "--config", str(self.folder / "broker.yaml")]

    def _client(self, role: str, name: str, size: int) -> Child:
        module = [sys.executable, "-m", "tests.live.crash_clients", role, self.endpoint]
        keys, journal = str(self._keys("client") or ""), str(self.folder / f"{name}.journal")
        return Child(
            name, role, self.folder, lambda life: [*module, keys, name, str(life), journal, str(size)]
        )

    # -- life ---------------------------------------------------------------------------------------------

    @contextmanager
    def running(self, *, transitions: bool = True) -> Iterator[World]:
        """All processes, at work; none is left when the block ends."""
        try:
            self.broker.start()
            for client in self.clients:
                client.start()
            began = time.monotonic()
            self.until_all_work()
            self._starting_s = time.monotonic() - began
            if transitions:
                self.operations.start()
            yield self
        finally:
            if self.operations.is_alive():
                self.operations.stop()
            for child in (*self.clients, self.broker):
                child.end()

    def until_all_work(self) -> None:
        """Wait until everybody who was killed is back."""
        until(self._all_work, "everybody is back")

    def _all_work(self) -> bool:
        for child in (self.broker, *self.clients):
            child.ended()
        self.ledger.read()
        ledger = self.ledger
        return "listens on" in self.broker.said() and all(
            ledger.connected.get(client.name) == client.life
            and (client.role == "publisher" or ledger.subscribers[client.name].ready == client.life)
            and client.name in ledger.states
            for client in self.clients
        )

    # -- the monkey ---------------------------------------------------------------------------------------

    def kill_somebody(self, moment: str | None = None, role: str | None = None) -> None:
        """Kill a process, sometimes two, at a moment that is chosen or given, start it again and check."""
        rng = self.rng
        role = role or rng.choices((BROKER, "subscriber", "publisher"), (5, 3, 2))[0]
        moment = moment or rng.choice(MOMENTS)
        victims = [self._one_of(role)]
        if rng.random() < 0.25:
            other = rng.choice([each for each in (BROKER, "subscriber", "publisher") if each != role])
            victims.append(self._one_of(other))
        absence = rng.choice((0.0, 0.0, rng.uniform(0.0, 0.5)))
        delay = rng.random()
        if moment == "start":
            self._kill(victims[0], "any")
            victims[0].start()
        self._wait_for(moment, delay)
        for victim in victims:
            self._kill(victim, moment)
        time.sleep(absence)  # others go on meanwhile
        began = time.monotonic()
        for victim in victims:
            victim.start()
        self.check()
        self.recoveries.append(time.monotonic() - began)

    def suffer(self, fault: str) -> None:
        """Let one of FAULTS happen and check."""
        self.faults.append(fault)
        FAULTS[fault](self)
        began = time.monotonic()
        self.check()
        self.recoveries.append(time.monotonic() - began)

    def stop_broker(self, why: str) -> None:
        """Kill the broker; whoever does it starts it again."""
        self._kill(self.broker, why)

    def _one_of(self, role: str) -> Child:
        return self.rng.choice([child for child in (self.broker, *self.clients) if child.role == role])

    def _kill(self, victim: Child, moment: str) -> None:
        at = time.monotonic()
        victim.kill()
        self.kills.append(Killed(at, victim.name, victim.role, moment))

    def _wait_for(self, moment: str, delay: float) -> None:
        """Let the moment come; `delay` from 0 to 1 says where in it."""
        if moment == "any":
            time.sleep(0.5 * delay)
        elif moment == "start":
            time.sleep(self._starting_s * delay)
        elif moment == "transition":
            self.operations.begins.clear()
            self.operations.begins.wait(PATIENCE)
            time.sleep(0.02 * delay)
        else:
            publishers = [child.journal for child in self.clients if child.role == "publisher"]
            watched = publishers if moment == "publish" else [Path(f"{self.store}-wal")]
            before = [_changed(path) for path in watched]
            deadline = time.monotonic() + PATIENCE
            while [_changed(path) for path in watched] == before and time.monotonic() < deadline:
                pass  # to sleep would be to miss it

    # -- checks -------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everybody is back; new events are safe; all that are have arrived; broker and clients agree.

        Raises AssertionError for what never comes; the rest is in `violations`.
        """
        began = time.monotonic()
        self.until_all_work()
        until(lambda: self._all_work() and self.ledger.safe_at > began, "something new is safe")
        self._check_arrivals()
        self._check_status()

    def _check_arrivals(self) -> None:
        owed = self.ledger.missing()

        def left() -> dict[str, set[Key]]:
            missing = self.ledger.missing()
            return {name: keys & missing.get(name, set()) for name, keys in owed.items()}

        try:
            until(lambda: not any(left().values()), "all that was safe has arrived")
        except AssertionError as error:
            raise AssertionError(f"{error}: {left()}") from None

    def _check_status(self) -> None:
        with self.operations.paused:
            self.ledger.read()
            known = max([self.operations.epoch, *(epoch for epoch, _ in self.ledger.states.values())])
            status = self.status()
            schemes = Counter({each["name"]: each["clients"] for each in status["schemes"]})
            placed = [(row[1], row[4]) for row in status["positions"] if row[1] in self._listeners]
            fitting = [
                each
                for each in self.operations.expected
                if Counter(each.values()) == schemes and all(each[name] == scheme for name, scheme in placed)
            ]
            found = [
                (status["epoch"] >= known, f"epoch {status['epoch']}, {known} was known"),
                (fitting, f"schemes {schemes} and {placed}, expected {self.operations.expected}"),
                (sorted(name for name, _ in placed) == self._listeners, f"places {placed}"),
                (status["subscriptions"] == len(self._listeners), f"{status['subscriptions']} subscriptions"),
                (status["counters"]["missed"] == 0, f"{status['counters']['missed']} events were given up"),
            ]
            after = f"after {self.told()}"
            self.ledger.violations += [f"{after}: {complaint}" for ok, complaint in found if not ok]
            if fitting:
                self.operations.expected = fitting
                until(lambda: any(map(self._all_have, fitting)), f"all clients have one of {fitting}")

    def _all_have(self, schemes: dict[str, str]) -> bool:
        """Whether every client has the scheme that the broker has for it."""
        for child in (self.broker, *self.clients):
            child.ended()
        self.ledger.read()
        states = self.ledger.states
        return all(
            client.name in states and states[client.name][1] == FLAGS[schemes[self._session(client.name)]]
            for client in self.clients
        )

    def status(self) -> dict[str, Any]:
        """What the broker says about itself, not earlier than now."""
        now, deadline = time.time() + self.clock_ahead, time.monotonic() + PATIENCE
        while True:
            try:
                with Operator(self.endpoint, self._keys("admin"), patience=PATIENCE) as operator:
                    while time.monotonic() < deadline:
                        snapshot: dict[str, Any] = operator.ask("status")
                        if snapshot["at"] > now:
                            return snapshot
                        time.sleep(0.02)
            except OperatorFailed:
                pass
            assert time.monotonic() < deadline, "the broker does not say how it is"

    def told(self) -> str:
        """What was done last."""
        latest = f" ({self.kills[-1].name}, {self.kills[-1].moment})" if self.kills else ""
        faults = f", fault {len(self.faults)} ({self.faults[-1]})" if self.faults else ""
        return f"kill {len(self.kills)}{latest}{faults}"

    @property
    def violations(self) -> list[str]:
        """All that was found so far, and errors that processes have logged."""
        logged = [
            f"{child.name}: {line}"
            for child in (self.broker, *self.clients)
            for line in child.log.read_text(encoding="utf-8").splitlines()
            if "Traceback" in line or "goes on after an error" in line
        ]
        return self.ledger.violations + self.operations.violations + logged

    def finish(self) -> dict[str, Any]:
        """Check once more, when nobody does anything any more; gives a summary. Raises as `check` does."""
        self.operations.stop()
        self.check()
        for client in self.clients:
            if client.role == "publisher":
                client.end()
        self._check_arrivals()
        self.ledger.check_lives([(kill.at, kill.name) for kill in self.kills])
        return self.summary()

    def summary(self) -> dict[str, Any]:
        """What has happened so far, as data."""
        ledger, kinds = self.ledger, Counter((kill.role, kill.moment) for kill in self.kills)
        received = ledger.subscribers.values()
        return {
            "kills": len(self.kills),
            "faults": dict(Counter(self.faults)),
            "by_role": {f"{role} {moment}": n for (role, moment), n in sorted(kinds.items())},
            "published": len(ledger.sent),
            "safe": len(ledger.safe),
            "refused": len(ledger.refused),
            "deliveries": sum(len(each.got) for each in received),
            "missing": sum(len(keys) for keys in ledger.missing().values()),
            "given_up": ledger.missed,
            "twice_in_a_life": sum(each.twice for each in received),
            "again_in_another_life": sum(each.again for each in received),
            "lives_of_subscribers": sum(len(each.lives) for each in received),
            "transitions": self.operations.executed,
            "transitions_cut_short": self.operations.failed,
            "recovery_s": sorted(self.recoveries),
            "violations": self.violations,
        }


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

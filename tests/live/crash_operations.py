"""An operator who is never content with the filter scheme."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bypass.live.operator import Operator, OperatorFailed
from tests.live.crash_processes import PATIENCE

CYCLE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ste", {}),
    ("grid", {"grid": 2}),
    ("egrid", {"grid": 2}),
    ("attract", {}),
    ("radial", {}),
)
PARTLY = 0.5
STARTING = ("no answer", "compiling", "reads its store")  # what is said while it starts again


class Operations(threading.Thread):
    """Exchanges the filter scheme again and again, of everybody and in between of some of the `clients`.

    `paused` is held by whoever wants things to stay.
    """

    def __init__(self, endpoint: str, keys: Path | None, clients: list[str], seed: int) -> None:
        super().__init__(name="operations", daemon=True)
        self.paused = threading.Lock()
        self.begins = threading.Event()  # a plan was sent just now
        self.executed = 0
        self.failed = 0  # nobody knows whether they were executed
        self.epoch = 0  # of the latest plan that is known to be executed
        self.expected = [dict.fromkeys(clients, "radial")]  # one of these is who has which scheme
        self.violations: list[str] = []
        self._endpoint = endpoint
        self._keys = keys
        self._clients = clients
        self._rng = random.Random(seed)
        self._ending = threading.Event()

    def run(self) -> None:
        steps = self._steps()
        while not self._ending.is_set():
            try:
                with Operator(self._endpoint, self._keys, patience=1.0) as operator:
                    while not self._ending.wait(self._rng.uniform(0.05, 0.3)):
                        with self.paused:
                            self._execute(operator, *next(steps))
            except OperatorFailed as failure:
                if not any(word in str(failure) for word in STARTING):
                    self.violations.append(f"operator: {failure}")
                    return

    def stop(self) -> None:
        self._ending.set()
        self.join(PATIENCE)

    def _steps(self) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """Everybody in a cycle; after every other time, some get one of the schemes for a while."""
        for total in itertools.cycle(CYCLE):
            yield *total, self._clients
            if self._rng.random() < PARTLY:
                some = self._rng.sample(self._clients, self._rng.randint(1, len(self._clients)))
                yield *self._rng.choice(CYCLE), some

    def _execute(self, operator: Operator, to: str, values: dict[str, Any], clients: list[str]) -> None:
        then: list[dict[str, str]] = []
        for before in self.expected:
            after = before | dict.fromkeys(clients, to)
            if after not in then:
                then.append(after)
        self.expected += [each for each in then if each not in self.expected]
        self.begins.set()
        action = {"proxy": "filter", "to": to, **({"set": values} if values else {})}
        named = {} if clients is self._clients else {"clients": clients}
        try:
            reply = operator.ask("execute", plan={"plan": f"to {to}", "actions": [action]}, **named)
        except OperatorFailed:
            self.failed += 1
            raise
        self.executed += 1
        if reply["epoch"] <= self.epoch:
            self.violations.append(f"epoch {reply['epoch']} was given after {self.epoch}")
        if any(record["outcome"] == "failed" for record in reply["records"]):
            self.violations.append(f"operator: {reply['records']}")
        self.epoch = reply["epoch"]
        self.expected = then

"""A broker in a process of its own that can be asked anything, and whose store waits while it is locked."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live.brokers import PATIENCE, Peer, until
from tests.live.zmtp import RawPeer

SOURCE = """
import json, sys, threading
from pathlib import Path
from bypass.live.broker.service import Service
from tests.live.brokers import config, in_loop

settings = {"listen": ("tcp://127.0.0.1:*",), "heartbeat": 600, **json.loads(sys.argv[2])}
service = Service(config(Path(sys.argv[1]), **settings))
server = service.server
server.store._writer.execute("PRAGMA busy_timeout = 600000")  # it waits for whoever has the file locked
thread = threading.Thread(target=service.run)
thread.start()
print(server.endpoints[0], flush=True)
for question in sys.stdin:
    print(json.dumps(in_loop(service, lambda: eval(question))), flush=True)
server.stop()
thread.join()
"""


class BrokerProcess:
    """An open broker; settings are those of its configuration."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.store = folder / "store.db"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SOURCE, str(folder), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.endpoint = self._line()
        self.port = int(self.endpoint.rpartition(":")[2])

    def ask(self, expression: str) -> Any:
        """What an expression is in the broker's thread."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{expression}\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def count(self, name: str) -> int:
        """What `bypass status` would say of a counter."""
        self.ask("service.status.refresh()")
        return int(self.ask(f"service.status.snapshot['counters'][{name!r}]"))

    def mib(self) -> float:
        """Memory that it has now."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * 4096 / (1 << 20)

    def end(self) -> None:
        """Have it end in order, and check that it does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError(f"the broker has ended with {self.process.wait(PATIENCE)}")
        return line

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Nothing is written meanwhile."""
        other = sqlite3.connect(self.store, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        finally:
            other.close()

    def pause(self, publisher: Peer) -> None:
        """While the store is stalled: have so much collected for it that nothing is read any more."""
        publisher.publish(wait=False)
        until(lambda: self.ask("server.turns.writing"))
        while not self.ask("server.intake.paused"):
            with RawPeer(self.port) as peer:  # each is charged by itself
                peer.send(*[bytes(200_000)] * 20)
                peer.until_read()


@contextmanager
def broker_process(folder: Path, **settings: Any) -> Iterator[BrokerProcess]:
    """A broker that must not end before the block does, and ends in order then."""
    broker = BrokerProcess(folder, settings)
    with broker.process:
        try:
            yield broker
            broker.end()
        finally:
            broker.process.kill()

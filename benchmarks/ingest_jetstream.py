"""The log in JetStream while its leader is killed: what was acknowledged, what the table has, and how long it
took.

Three servers keep three replicas and sync before they acknowledge. The one that leads the stream is killed
(SIGKILL) when half of the messages are acknowledged, and started again after three quarters.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import nats
import numpy as np
from common import arguments, integer, print_table, write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # servers and pipeline are those of the tests

from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.devices.device import Device
from bypass.ingest.log.catalogue import close_logs
from bypass.ingest.service.status import REFUSED, IngestStatus, read_status
from tests.ingest.nats_servers import NatsServer, nats_cluster
from tests.ingest.pipeline import Pipeline, message

DEVICES = [f"device{number}" for number in range(200)]
STREAM = "benchmark"
T = 1_763_459_000_000


class Sender:
    """Hands in messages, so many at a time, and hands in again those that were refused.

    The last four tenths wait until the server is killed, however few messages there are.
    """

    def __init__(self, intake: LogIntake, messages: int, window: int) -> None:
        self.acknowledged = np.zeros(messages)
        """When each message was acknowledged first, on the monotonic clock."""
        self.handed_in = np.zeros(messages)
        self.refused = 0
        self.kill = threading.Event()
        self._intake = intake
        self._room = threading.Semaphore(window)
        self._again: list[int] = []

    def send(self, messages: int) -> None:
        """Send messages, and return when all of them are acknowledged."""
        numbers = list(range(messages))
        while numbers:
            for number in numbers:
                if number >= 0.6 * messages:
                    self.kill.wait()
                self._room.acquire()
                device = DEVICES[number % len(DEVICES)]
                self.handed_in[number] = self.handed_in[number] or time.monotonic()
                done = self._intake.submit(
                    device, message(device, T + number, number=number, value=number / 7)
                )
                done.add_done_callback(partial(self._answered, number))
            while np.count_nonzero(self.acknowledged) + len(self._again) < messages:
                time.sleep(0.01)
            numbers, self._again = self._again, []

    def _answered(self, number: int, done: Future[None]) -> None:
        if done.exception() is None:
            self.acknowledged[number] = time.monotonic()
        else:
            self.refused += 1
            self._again.append(number)
        self._room.release()


class Killer:
    """Kills the server that leads the stream when half of the messages are acknowledged, and starts it again
    after three quarters."""

    def __init__(self, servers: list[NatsServer], sender: Sender) -> None:
        self.killed = 0.0
        self._servers = servers
        self._sender = sender
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        self._wait_for(0.5)
        name = asyncio.run(leader(self._servers[0]))
        victim = next(server for server in self._servers if server.name == name)
        victim.kill()
        self.killed = time.monotonic()
        self._sender.kill.set()
        self._wait_for(0.75)
        victim.start()

    def _wait_for(self, share: float) -> None:
        acknowledged = self._sender.acknowledged
        while np.count_nonzero(acknowledged) < share * len(acknowledged):
            time.sleep(0.002)


async def leader(server: NatsServer) -> str | None:
    """The name of the server that leads the stream now."""
    client = await nats.connect(f"nats://{server.address}")
    try:
        cluster = (await client.jetstream().stream_info(STREAM)).cluster
        return cluster.leader if cluster is not None else None
    finally:
        await client.close()


def run(folder: Path, messages: int, window: int) -> dict[str, Any]:
    """Send all messages, with a kill in between, while batches are taken; then take the rest."""
    with nats_cluster(folder / "servers") as servers:
        addresses = ",".join(server.address for server in servers)
        devices = [Device(id=name) for name in DEVICES]
        pipeline = Pipeline(
            folder / "ingest", *devices, most=20_000, log=f"nats://{addresses}?replicas=3&name={STREAM}"
        )
        intake = LogIntake(pipeline.log, pipeline.folder.logs / "test" / REFUSED)
        sender = Sender(intake, messages, window)
        sent = threading.Event()
        batches = threading.Thread(target=take_batches, args=(pipeline, sent))
        began = time.monotonic()
        batches.start()
        killer = Killer(servers, sender)
        sender.send(messages)
        ended = time.monotonic()
        killer.thread.join()
        intake.close()
        sent.set()
        batches.join()
        taken = time.monotonic()
        result = judge(pipeline, sender, read_status(pipeline.folder))
        latency = np.sort(sender.acknowledged - sender.handed_in) * 1000
        after = np.sort(sender.acknowledged[sender.acknowledged >= killer.killed])
        result |= {
            "messages_s": messages / (ended - began),
            "table_s": taken - began,
            "latency_ms": {
                name: float(latency[min(len(latency) - 1, int(len(latency) * share))])
                for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
            },
            "silence_after_kill_s": float(np.max(np.diff(after, prepend=killer.killed))),
            "blocks": pipeline.progress().offset.logs["jetstream"][0] - 1,
        }
        pipeline.log.close()
        close_logs()
    return result


def take_batches(pipeline: Pipeline, sent: threading.Event) -> None:
    """Take batches until all messages were sent and none is left."""
    while True:
        last = sent.is_set()
        if not pipeline.step():
            if last:
                return
            sent.wait(0.05)


def judge(pipeline: Pipeline, sender: Sender, status: IngestStatus) -> dict[str, Any]:
    """Compare the table with what was acknowledged."""
    rows = [row["time"] - T for row in pipeline.rows() if row["metric"] == "number"]
    there = np.bincount(rows, minlength=len(sender.acknowledged))
    ends = status.stored + status.filtered + status.duplicates + sum(status.dead_letters.values())
    return {
        "messages": len(sender.acknowledged),
        "acknowledged": int(np.count_nonzero(sender.acknowledged)),
        "refused": sender.refused,
        "lost": int(np.count_nonzero(there == 0)),
        "doubled": int(np.count_nonzero(there > 1)),
        "duplicates": status.duplicates,
        "equation": status.received == ends + sum(status.refused.values()) + status.lag_messages,
        "lag": status.lag_messages,
    }


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--messages", 100_000, "messages that are sent")
    integer(parser, "--window", 5_000, "messages that wait to be acknowledged at a time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), given.messages, given.window)
    latency = result["latency_ms"]
    print_table(
        "Three servers, three replicas, synced; the stream's leader is killed",
        ["", "figure"],
        [
            ["messages acknowledged", result["acknowledged"]],
            ["refused, and sent again", result["refused"]],
            ["acknowledged and not in the table", result["lost"]],
            ["twice in the table", result["doubled"]],
            ["recognised as copies", result["duplicates"]],
            ["messages a second", result["messages_s"]],
            ["seconds until all are in the table", result["table_s"]],
            ["ms until acknowledged, p50", latency["p50"]],
            ["ms until acknowledged, p99", latency["p99"]],
            ["ms until acknowledged, max", latency["max"]],
            ["longest silence after the kill, s", result["silence_after_kill_s"]],
            ["records in a block", result["messages"] / result["blocks"]],
        ],
    )
    write("ingest_jetstream", given.out, result)
    if result["lost"] or result["doubled"] or result["lag"] or not result["equation"]:
        print("expected every acknowledged message in the table once", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

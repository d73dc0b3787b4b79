"""How `fanout.py` measures: all systems are up at once and have short slices in turn.

A processor's speed may change by half within a minute, and others use the machine: what is to be compared has
to be measured within seconds of each other, again and again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from fanout_clients import Load
from fanout_places import Places
from fanout_systems import SYSTEMS, Given
from servers import Server

WARM_UP_EVENTS = 200

PAUSE_S = 0.7
"""Between rounds. Our broker takes half a second to note what clients have acknowledged."""

IDLE_S = 2.0


class Slice(NamedTuple):
    """The measurements of one slice, or of several. Times are in seconds.

    `cpu` is the server's, with what it did in the pause after the round: that is where it catches up on what
    it has put off. `cpu_meanwhile` is what it had when everything had arrived, and `others_cpu` what servers
    had by then whose turn it was not.
    """

    took: float
    cpu: float
    cpu_meanwhile: float
    others_cpu: float
    load_cpu: float
    events: float
    useful: float
    received: float


def total(slices: Iterable[Slice]) -> Slice:
    """Of several slices."""
    return Slice(*map(sum, zip(*slices, strict=True)))


class System(NamedTuple):
    """A server that is up, and its load."""

    name: str
    server: Server
    load: Load


@contextmanager
def started(names: Sequence[str], places: Places, core: int) -> Iterator[list[System]]:
    """These systems, who have had some events already."""
    systems: list[System] = []
    with ExitStack() as stack:
        for name in names:
            print(f"  {places.recipients}: {name} is started", file=sys.stderr)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            server, load = stack.enter_context(SYSTEMS[name](Given(places, folder, core)))
            stack.callback(load.close)
            _warm_up(load)
            systems.append(System(name, server, load))
        pause(systems, PAUSE_S)
        yield systems


def _warm_up(load: Load) -> None:
    tally = load.tally
    push(load, WARM_UP_EVENTS * tally.places.recipients, lambda: tally.published >= WARM_UP_EVENTS)


def in_turn(
    systems: Sequence[System], rounds: int, what: str, work: Callable[[Load], None]
) -> dict[str, list[Slice]]:
    """Let each have `work` once in each round. Gives the slices of each, by name.

    Every other round is backwards: if the machine gets slower all the time, all have the same of it.
    """
    slices: dict[str, list[Slice]] = {system.name: [] for system in systems}
    for number in range(rounds):
        recipients = systems[0].load.tally.places.recipients
        print(f"  {recipients}: {what}, round {number + 1} of {rounds}", file=sys.stderr)
        with ExitStack() as stack:
            for system in systems:
                stack.enter_context(system.server.stopped())
            taken = {system.name: _turn(system, systems, work) for system in systems[:: (-1) ** number]}
            cpu = [system.server.cpu() for system in systems]
        pause(systems, PAUSE_S)
        for system, before in zip(systems, cpu, strict=True):
            one = taken[system.name]
            later = system.server.cpu() - before
            slices[system.name].append(one._replace(cpu=one.cpu_meanwhile + later))
    return slices


def _turn(system: System, systems: Sequence[System], work: Callable[[Load], None]) -> Slice:
    """All servers are stopped but this one: they would ask their clients whether they are still there."""
    others = [each.server for each in systems if each is not system]
    server, tally = system.server, system.load.tally
    events, useful, received = tally.published, tally.useful, tally.received
    others_cpu = sum(each.cpu() for each in others)
    cpu, load_cpu, began = server.cpu(), time.process_time(), time.monotonic()
    with server.resumed():
        work(system.load)
        took, load_cpu = time.monotonic() - began, time.process_time() - load_cpu
    return Slice(
        took,
        0.0,  # is known after the pause
        server.cpu() - cpu,
        sum(each.cpu() for each in others) - others_cpu,
        load_cpu,
        tally.published - events,
        tally.useful - useful,
        tally.received - received,
    )


def pause(systems: Sequence[System], seconds: float) -> None:
    """Let all servers do what they have put off, and the clients of all answer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for system in systems:
            system.load.read(0.0)
        time.sleep(0.001)


def at_rest(systems: Sequence[System]) -> dict[str, float]:
    """The share of a core that each server takes while nothing is published, by name."""
    cpu = [system.server.cpu() for system in systems]
    pause(systems, IDLE_S)
    return {
        system.name: (system.server.cpu() - before) / IDLE_S
        for system, before in zip(systems, cpu, strict=True)
    }


def push(load: Load, most: int, done: Callable[[], bool]) -> None:
    """Publish so that `most` deliveries are on their way, until it is done and all have come."""
    tally = load.tally
    while not done():
        while tally.expected - tally.received < most:
            load.publish()
        load.read(0.01)
    load.read_until(lambda: tally.received >= tally.expected)
    load.settle()


def saturate(load: Load, window: int, seconds: float) -> None:
    """Have so many events on their way for that long."""
    until = time.monotonic() + seconds
    push(load, window * load.tally.places.recipients, lambda: time.monotonic() >= until)


def pace(load: Load, rate: float, seconds: float) -> None:
    """Publish so many events a second, and take all that comes of them."""
    tally, began = load.tally, time.monotonic()
    for i in range(max(int(rate * seconds), 1)):
        while (wait := began + i / rate - time.monotonic()) > 0.0:
            load.read(min(wait, 0.002))
        load.publish()
    load.read_until(lambda: tally.received >= tally.expected)
    load.settle()

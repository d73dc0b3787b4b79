"""Classifies transitions: those of all clients, with each client's delay, and those of single clients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.figures.usage import ClientExecution
from bypass.support.arrays import Floats
from bypass.transitions import Record

HEALED = "self-healing"  # who asks for a transition that a host hears of from others


@dataclass(frozen=True, slots=True)
class TransitionSpread:
    """A transition of all clients: what the broker did, and how much later (s) each client did it."""

    broker: ClientExecution
    delays_s: Floats


def _done(run: Run) -> tuple[dict[str, ClientExecution], list[ClientExecution]]:
    """The executions at the broker that were for all clients, by id, and those at clients."""
    done = [each for each in run.executions if each.record.outcome == "done"]
    total = {e.record.id: e for e in done if np.isnan(e.x) and e.record.kind != "partial"}
    return total, [each for each in done if not np.isnan(each.x)]


def spreads(run: Run) -> list[TransitionSpread]:
    """The transitions of all clients, in the order in which the broker did them."""
    total, clients = _done(run)
    at: dict[str, list[float]] = {number: [] for number in total}
    for each in clients:
        if each.record.id in at:
            at[each.record.id].append(each.record.at)
    return [TransitionSpread(e, np.array(at[number]) - e.record.at) for number, e in total.items()]


def single_executions(run: Run) -> list[ClientExecution]:
    """The executions at clients that neither the broker nor the timeline meant for all: partial
    transitions."""
    total, clients = _done(run)
    of_steps = [
        (phase.start_s, phase.end_s, {(a.proxy, a.to) for a in step.plan.actions if not a.is_partial})
        for step, phase in zip(run.scenario.timeline, run.phases[1:], strict=True)
    ]

    def follows_a_step(record: Record) -> bool:
        """Whether a client executed a step of the timeline, within its phase or, if it heard of it from
        others, later."""
        return any(
            start <= record.at
            and (record.at < end or record.who == HEALED)
            and (record.proxy, record.target) in meant
            for start, end, meant in of_steps
        )

    return [e for e in clients if e.record.id not in total and not follows_a_step(e.record)]

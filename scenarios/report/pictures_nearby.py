"""The pictures of a report that only runs with clients nearby have: what they use, and what gateways do."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bypass.scenarios.figures.outcome import LOCAL_PROXIES, Run
from bypass.scenarios.figures.usage import Course, courses
from bypass.scenarios.report.page import paragraph, pictures
from bypass.scenarios.report.plots.captions import PROXIES
from bypass.scenarios.report.plots.maps.gateways import count_map, lorenz_curves
from bypass.scenarios.report.plots.maps.spread_map import spread_map
from bypass.scenarios.report.plots.style import WIDE, Picture
from bypass.scenarios.report.plots.time.shares import shares
from bypass.scenarios.report.plots.time.time_axis import stretches
from bypass.scenarios.report.plots.time.utilisation import utilisation
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import grouped


def spread_maps(run: Run) -> Iterator[Picture | None]:
    """How each step of the timeline that concerns clients nearby reached them, by place and time."""
    labels = [label for _, _, label, _ in stretches(run)[1:]]
    for title, step, spread in zip(labels, run.scenario.timeline, run.spreads(), strict=True):
        if any(action.proxy in LOCAL_PROXIES for action in step.plan.actions):
            yield spread_map(title, run.region, spread.x, spread.y, spread.delay, run.scenario.clients)


def changing(run: Run) -> dict[str, list[Course]]:
    """The proxies behind which clients change anything, and what each client uses when."""
    changed = {e.record.proxy for e in run.executions if e.client is not None and e.switched}
    return {proxy: run.courses(proxy) for proxy in LOCAL_PROXIES if proxy in changed}


def taking_part(run: Run) -> Picture | None:
    """How many clients take part, where they come and go."""
    there = courses("", "taking part", run.scenario.clients, (), run.attendance)
    return shares("Clients taking part", there, run.scenario.duration)


def in_use(run: Run) -> Iterator[Markup]:
    """The work of radios, and the mechanisms that clients used behind proxies where these change."""
    radio = run.local
    yield paragraph(
        f"Radios sent {grouped(radio['frames'])} frames. {grouped(radio['called_off'])} more were called off"
        f" because enough copies had been heard, {grouped(radio['dropped'])} lost in queues that were full or"
        f" switched off, {grouped(radio['failed'])} given up after all retries;"
        f" {grouped(radio['strange'])} times a frame reached a client with no use for it."
    )
    duration = run.scenario.duration
    drawn: list[Picture | None] = []
    for proxy, found in changing(run).items():
        title = PROXIES[proxy].capitalize()
        drawn += [
            utilisation(f"{title}, client by client", found, duration),
            shares(f"{title}, shares of clients", found, duration),
        ]
    if drawn:
        yield pictures(drawn, "Nobody used anything.")


def gateways(result: Result) -> Iterator[Markup]:
    """Maps of the main run's gateways, and how evenly clients took turns in each run."""
    run = result.main
    events = run.gateways.events
    served = [(name, each.gateways.times) for name, each in result.runs.items() if each.gateways.times.any()]
    yield paragraph(
        "Means by the place of events. Copies: how many of an event each client that gateways serve got by"
        " radio. Fairness: Jain's index of how often each client was gateway, also those that never were."
    )
    yield pictures(
        [
            count_map("Gateways an event", run.region, events["x"], events["y"], events["gateways"], WIDE),
            count_map("Copies a client", run.region, events["x"], events["y"], events["attempts"], WIDE),
            lorenz_curves("Turns of gateways", served),
        ],
        "The main run has no gateways.",
    )

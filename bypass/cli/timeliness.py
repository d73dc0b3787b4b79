"""`bypass timeliness`: how long events take when publishers and subscribers are ON only part of the time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bypass.cli.console import show_table, watched
from bypass.cli.group import commands, need_lab, refuse_unusable

if TYPE_CHECKING:  # they take a second to import
    from bypass.models.queueing import Breakdown, Centre, Fate, Route, Simulated

RATE, SERVICE, BROKERS = 1.0, 0.0625, 2
BAR = 40
"""The width of the plot beside the table: of a centre that takes all the time."""


@commands.command()
@click.argument("network", required=False, type=click.Path(path_type=Path))
@click.option(
    "--publisher-on", type=float, metavar="S", help="Mean ON period of the publisher.  [default: always ON]"
)
@click.option("--publisher-off", type=float, metavar="S", help="Its mean OFF period.  [default: 0]")
@click.option(
    "--subscriber-on", type=float, metavar="S", help="Mean ON period of the subscriber.  [default: always ON]"
)
@click.option("--subscriber-off", type=float, metavar="S", help="Its mean OFF period.  [default: 0]")
@click.option(
    "--brokers",
    type=int,
    metavar="N",
    help=f"Intermediate brokers, before the subscriber's home broker.  [default: {BROKERS}]",
)
@click.option(
    "--rate", type=float, metavar="N", help=f"Events for the subscriber per second.  [default: {RATE:g}]"
)
@click.option("--service", type=float, metavar="S", help=f"Mean time of each service.  [default: {SERVICE}]")
@click.option(
    "--publisher-other", type=float, metavar="N", help="The publisher's events for others per second."
)
@click.option("--broker-other", type=float, metavar="N", help="Events of others per second at each broker.")
@click.option(
    "--subscriber-other", type=float, metavar="N", help="Events of others for the subscriber per second."
)
@click.option("--target", type=float, metavar="S", help="Say which rate, or OFF period, meets this response.")
@click.option("--lifetime", type=float, metavar="S", help="Say how many events are worth nothing by then.")
@click.option(
    "--simulate", "events", type=int, metavar="EVENTS", help="Also send so many events through each path."
)
@click.option("--seed", type=int, default=1, metavar="N", help="Of that simulation.  [default: 1]")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write summary.json and timeliness.png."
)
def timeliness(
    network: Path | None,
    publisher_on: float | None,
    publisher_off: float | None,
    subscriber_on: float | None,
    subscriber_off: float | None,
    brokers: int | None,
    rate: float | None,
    service: float | None,
    publisher_other: float | None,
    broker_other: float | None,
    subscriber_other: float | None,
    target: float | None,
    lifetime: float | None,
    events: int | None,
    seed: int,
    out: Path | None,
) -> None:
    """Tell how long events take on average from a publisher to a subscriber.

    Events wait at a publisher that is OFF, pass brokers, and wait at the subscriber's home broker while the
    subscriber is OFF. Times are exponential and queues are long enough. The sum over all of these is a
    little too low, since what a publisher sends after an OFF period comes in bursts: --simulate tells by how
    much. NETWORK is a YAML file with brokers, links, publishers and subscribers, instead of one path by
    options.

    \b
    Examples:
      a commuter reads what another one writes, both underground
        bypass timeliness --publisher-on 292.1 --publisher-off 78.7 \\
                          --subscriber-on 155.8 --subscriber-off 72.1
      how often may I publish so that it takes 90 s, and what comes too late?
        bypass timeliness --subscriber-on 30 --subscriber-off 90 --target 90 --lifetime 120
      how much slower is it while others use the brokers as well?
        bypass timeliness --subscriber-on 30 --subscriber-off 90 --broker-other 12
      everybody in a network
        bypass timeliness examples/metro.yaml --out out/metro
    """
    need_lab()
    from bypass.models.queueing import BrokerNetwork, Route, break_down, compose, routes

    periods = {
        "publisher": (publisher_on, publisher_off),
        "subscriber": (subscriber_on, subscriber_off),
    }
    for name, (on, off) in periods.items():
        if off is not None and on is None:
            raise click.UsageError(f"--{name}-off {off:g}: expected --{name}-on with it")
    if out is not None:
        refuse_unusable(out)
    if network is None:
        path = compose(
            RATE if rate is None else rate,
            SERVICE if service is None else service,
            publisher=_periods(*periods["publisher"]),
            subscriber=_periods(*periods["subscriber"]),
            brokers=BROKERS if brokers is None else brokers,
            publisher_other=publisher_other or 0.0,
            broker_other=broker_other or 0.0,
            subscriber_other=subscriber_other or 0.0,
        )
        names = tuple(centre.name for centre in path[1:-2])
        found: Sequence[Route] = [Route("publisher", "subscriber", names, path[0].rate, break_down(path))]
    else:
        given = click.get_current_context().params.items()
        for key, value in given:
            if value is not None and key not in ("network", "lifetime", "events", "seed", "out"):
                option = key.replace("_", "-")
                raise click.UsageError(f"--{option} with NETWORK: expected nothing, the file says it")
        found = routes(BrokerNetwork.load(network))
    fates = None if lifetime is None else [_fates(route, lifetime) for route in found]
    simulated = None if events is None else [_simulated(route, events, seed) for route in found]
    if network is None:
        _show_centres(found[0].breakdown)
        lines = _limits(found[0].breakdown, target)
    else:
        _show_routes(found)
        lines = _busiest(found)
    for line in lines:
        click.echo(line)
    if simulated is not None:
        for line in _compared(found, simulated):
            click.echo(line)
    if fates is not None and lifetime is not None:
        for line in _expiry(found, fates, lifetime):
            click.echo(line)
    if out is not None:
        from bypass.models.queueing.picture import draw

        out.mkdir(parents=True, exist_ok=True)
        summary = _summary(found, fates, lifetime, simulated)
        (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        draw(found, out / "timeliness.png", lifetime)
        click.echo(f"summary: {out / 'summary.json'}, picture: {out / 'timeliness.png'}")


def _periods(on: float | None, off: float | None) -> tuple[float, float]:
    return inf if on is None else on, off or 0.0


def _show_centres(found: Breakdown) -> None:
    """Print the centres of one path."""
    rows = [
        (
            part.centre.name,
            f"{part.centre.load:.3f}",
            f"{part.response:.3f}",
            f"{100 * part.share:.1f}",
            "█" * round(BAR * part.share),
        )
        for part in found.parts
    ]
    head, foot = ("centre", "load", "response s", "share %", ""), ("total", "", f"{found.total:.3f}", "", "")
    show_table([head, *rows, foot], bars=True)


def _limits(found: Breakdown, target: float | None) -> Iterator[str]:
    """Describe, line by line, what limits one path: the slowest and the busiest centre, OFF periods, and the
    target."""
    slowest, busiest = found.slowest, found.busiest.centre
    yield (
        f"slowest: {slowest.centre.name}, {100 * slowest.share:.1f} % of the response;"
        f" always ON it would take {slowest.centre.always_on().response():.3f} s"
    )
    most = busiest.largest_rate(inf)
    yield f"busiest: {busiest.name}, load {busiest.load:.3f}; it can take up to {most:.4g} events/s"
    waits = [part.centre for part in found.parts if part.centre.off > 0.0]
    for centre in waits:
        yield f"{100 * centre.off / (centre.on + centre.off):.1f} % of events come to {centre.name} while OFF"
    if abs(found.effective - found.total) > 1e-9 * found.total:
        yield f"with other traffic as longer services only: {found.effective:.3f} s"
    if target is not None:
        yield f"for a response of {target:g} s, one of"
        yield from _tuned([part.centre for part in found.parts], target)


def _tuned(centres: Sequence[Centre], target: float) -> Iterator[str]:
    """Describe each single change by which a target is met."""
    from bypass.models.queueing import Unreachable, largest_rate, longest_off

    try:
        yield f"  at most {largest_rate(centres, target):.4g} events/s"
    except Unreachable as error:
        yield f"  no rate: {error}"
    for number, centre in enumerate(centres):
        if centre.off > 0.0:
            try:
                longest = longest_off(centres, number, target)
                yield f"  {centre.name} OFF for at most {longest:.4g} s"
            except Unreachable as error:
                yield f"  no OFF period: {error}"


def _show_routes(found: Sequence[Route]) -> None:
    """Print a line for each publisher and subscriber of a network."""
    rows = [("publisher", "subscriber", "slowest", "share %", "brokers", "events/s", "response s")]
    for route in found:
        slowest = route.breakdown.slowest
        rows.append(
            (
                route.publisher,
                route.subscriber,
                slowest.centre.name,
                f"{100 * slowest.share:.1f}",
                f"{len(route.brokers)}",
                f"{route.rate:g}",
                f"{route.breakdown.total:.3f}",
            )
        )
    show_table(rows, words=3)


def _busiest(found: Sequence[Route]) -> Iterator[str]:
    """The busiest centre of a network."""
    busiest = max((route.breakdown.busiest.centre for route in found), key=lambda centre: centre.load)
    yield f"busiest: {busiest.name}, load {busiest.load:.3f}"


def _fates(route: Route, lifetime: float) -> tuple[Fate, Fate]:
    from bypass.models.queueing import discarded_late, dropped_waiting

    centres = [part.centre for part in route.breakdown.parts]
    return discarded_late(centres, lifetime), dropped_waiting(centres, lifetime)


def _simulated(route: Route, events: int, seed: int) -> Simulated:
    from bypass.models.queueing import simulate

    with watched(f"{route.publisher} to {route.subscriber}") as progress:
        return simulate([part.centre for part in route.breakdown.parts], events, seed, progress=progress)


def _compared(found: Sequence[Route], simulated: Sequence[Simulated]) -> Iterator[str]:
    for route, each in zip(found, simulated, strict=True):
        name = f" from {route.publisher} to {route.subscriber}" if len(found) > 1 else ""
        low = 100 * (1.0 - route.breakdown.total / each.mean)
        yield (
            f"simulated{name}, {each.events:,} events: {each.mean:.3f} ± {each.half_width:.3f} s,"
            f" half of them within {each.p50:.3f} s, 95 % within {each.p95:.3f} s;"
            f" the sum is {abs(low):.1f} % {'lower' if low >= 0 else 'higher'}"
        )


def _expiry(found: Sequence[Route], fates: Sequence[tuple[Fate, Fate]], lifetime: float) -> Iterator[str]:
    for route, (late, dropped) in zip(found, fates, strict=True):
        name = f" from {route.publisher} to {route.subscriber}" if len(found) > 1 else ""
        yield f"events{name} that live for {lifetime:g} s:"
        yield f"  {_said(late)}, if whoever gets one late throws it away"
        yield f"  {_said(dropped)}, if lifetimes are exponential and queues drop events"


def _said(fate: Fate) -> str:
    others = f"the others take {fate.delay:.3f} s" if isfinite(fate.delay) else "none arrives"
    return f"{100 * fate.expired:.1f} % expire, {others}"


def _summary(
    found: Sequence[Route],
    fates: Sequence[tuple[Fate, Fate]] | None,
    lifetime: float | None,
    simulated: Sequence[Simulated] | None,
) -> dict[str, Any]:
    described: list[dict[str, Any]] = [
        {
            "publisher": route.publisher,
            "subscriber": route.subscriber,
            "brokers": list(route.brokers),
            "rate": route.rate,
            "response_s": route.breakdown.total,
            "effective_response_s": route.breakdown.effective,
            "centres": [
                {
                    "name": part.centre.name,
                    "other": part.centre.other,
                    "service_s": part.centre.service,
                    "on_s": part.centre.on if isfinite(part.centre.on) else None,
                    "off_s": part.centre.off,
                    "load": part.centre.load,
                    "response_s": part.response,
                    "share": part.share,
                }
                for part in route.breakdown.parts
            ],
        }
        for route in found
    ]
    for route, own in zip(described, fates or (), strict=False):
        for key, fate in zip(("discarded_late", "dropped_waiting"), own, strict=True):
            delay = fate.delay if isfinite(fate.delay) else None
            route[key] = {"expired": fate.expired, "delay_s": delay}
    for route, each in zip(described, simulated or (), strict=False):
        route["simulated"] = {
            "events": each.events,
            "mean_s": each.mean,
            "half_width_s": each.half_width if isfinite(each.half_width) else None,
            "p50_s": each.p50,
            "p95_s": each.p95,
        }
    return {"lifetime_s": lifetime, "routes": described}

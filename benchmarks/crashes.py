"""Processes that are killed while they work: what was acknowledged, what arrived, and how long it took."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import arguments, integer, print_table, write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the processes are those of the tests

from tests.live.crash_faults import FAULTS, mounted_disk
from tests.live.crashes import World


def run(world: World, kills: int, faults: list[str]) -> dict[str, Any]:
    """Kill until there were enough, with faults of the machine in between; what never comes true ends it."""
    began = time.monotonic()
    with world.running():
        try:
            while len(world.kills) < kills or len(world.faults) < len(faults):
                if len(world.kills) * len(faults) <= len(world.faults) * kills:
                    world.kill_somebody()
                else:
                    world.suffer(faults[len(world.faults)])
                print(f"{world.told()}: {'; '.join(world.violations) or 'all is well'}", flush=True)
            found = world.finish()
        except AssertionError as error:
            world.ledger.violations.append(f"after {world.told()}: {error}")
            found = world.summary()
    return {**found, "seconds": time.monotonic() - began}


def main() -> None:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--kills", 200, "processes that are killed")
    integer(parser, "--faults", 0, "pauses, clocks that jump, full disks and missing descriptors, in turn")
    integer(parser, "--publishers", 3, "processes that publish")
    integer(parser, "--subscribers", 3, "processes that subscribe")
    integer(parser, "--seed", 1, "of who is killed when")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, mounted_disk(Path(folder, "disk"), "256m") as disk:
        kinds = [name for name in FAULTS if disk is not None or name != "full disk"]
        world = World(
            Path(folder),
            seed=options.seed,
            publishers=options.publishers,
            subscribers=options.subscribers,
            encrypted=True,
            store=disk / "store.db" if disk is not None and options.faults else None,
        )
        found = run(world, options.kills, [kinds[n % len(kinds)] for n in range(options.faults)])
    moments = [name.split() for name in found["by_role"]]
    print_table(
        f"{found['kills']} kills, seed {options.seed}, in {found['seconds']:,.0f} s",
        ("killed", "when", "times"),
        [[*names, count] for names, count in zip(moments, found["by_role"].values(), strict=True)],
    )
    recovery = found.pop("recovery_s")
    found["recovery_median_s"] = statistics.median(recovery) if recovery else 0.0
    found["recovery_longest_s"] = max(recovery, default=0.0)
    names = {
        "safe": "events that were acknowledged",
        "deliveries": "deliveries of these and others",
        "missing": "acknowledged and not delivered",
        "given_up": "given up by the broker",
        "twice_in_a_life": "delivered twice in one life",
        "again_in_another_life": "delivered again in a later life",
        "transitions": "transitions",
        "transitions_cut_short": "... that a kill cut short",
        "refused": "refused while the disk was full",
        "recovery_median_s": "until all is well again, median (s)",
        "recovery_longest_s": "... the longest (s)",
    }
    print_table("What became of events", ("", "number"), [[text, found[key]] for key, text in names.items()])
    print(f"\n{len(found['violations'])} violations")
    for violation in found["violations"]:
        print(f"  {violation}")
    write("crashes", options.out, {"seed": options.seed, **found})
    if found["violations"]:
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Workloads as tables of publications, to be looked at, changed, and evaluated like recorded ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bypass.models.compute.engines import ComputeEngine, WorkProgress, unwatched
from bypass.models.request import check_request
from bypass.models.traces.files import new_folder
from bypass.models.workloads import Rhythm, Workload, World
from bypass.support.durable_files import replacing
from bypass.support.units import MICROSECONDS

ROWS_PER_FILE = 5_000_000


@dataclass(frozen=True)
class Portion:
    """A piece of work: what is published from `start_us` on and before `end_us` goes to a file."""

    workload: Workload
    world: World
    clients: int
    seed: int
    start_us: int
    end_us: int
    file: Path


def write_publications(
    workload: Workload,
    world: World,
    out: Path,
    *,
    clients: int,
    duration: float,
    seed: int,
    engine: ComputeEngine,
    progress: WorkProgress = unwatched,
) -> int:
    """Write all publications before `duration` (s) to Parquet files in the folder `out`; gives how many.

    Columns are t (s), client, x, y (m; null for an event at its publisher's place); rows in order of time.
    Raises InvalidRequest, and InvalidTrace if `out` is in use; whatever is raised, nothing is left behind.
    """
    check_request(clients, duration, seed)
    count = max(1, math.ceil(clients * duration * workload.rate / ROWS_PER_FILE))
    cuts = [math.ceil(duration * MICROSECONDS) * k // count for k in range(count + 1)]
    out = out.absolute()  # workers may be at home in another folder
    portions = [
        Portion(workload, world, clients, seed, cuts[k], cuts[k + 1], out / f"{k:05d}.parquet")
        for k in range(count)
    ]
    with new_folder(out):
        return sum(engine.run(write, portions, progress))


def write(portion: Portion) -> int:
    """Write one file; gives how many publications it has."""
    rhythm = Rhythm.of(portion.workload.rate, 0, portion.clients, portion.seed)
    p = portion.workload.between(rhythm, portion.start_us, portion.end_us, portion.seed, portion.world)
    places = {name: pa.array(column, mask=np.isnan(column)) for name, column in (("x", p.x), ("y", p.y))}
    table = pa.table({"t": p.at_us / MICROSECONDS, "client": p.client, **places})
    with replacing(portion.file) as unfinished:
        pq.write_table(table, unfinished, compression="zstd", row_group_size=500_000)
    return len(p)

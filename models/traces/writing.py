"""Writes the movement of a mobility model as a trace on disk."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bypass.models.compute.engines import ComputeEngine, WorkProgress, unwatched
from bypass.models.request import check_request
from bypass.models.traces.blocks import first_clients, write_block
from bypass.models.traces.files import new_folder
from bypass.models.traces.manifest import Manifest, checked_slab, count_samples
from bypass.models.traces.trace import Trace, missing_file

if TYPE_CHECKING:  # models play traces back, so they come later
    from bypass.models.mobility.base.model import MobilityModel

DISTRIBUTION = "bypass-pubsub"


def write_trace(
    model: MobilityModel,
    name: str,
    out: Path,
    *,
    clients: int,
    duration: float,
    seed: int,
    step: float = 1.0,
    slab: float | None = None,
    engine: ComputeEngine,
    blocks: int | None = None,
    progress: WorkProgress = unwatched,
) -> Trace:
    """Write where `model`, known by `name`, has its clients, to the folder `out`, which is new or empty.

    There is a piece of work for each block of clients. Their number, the slab and the engine change how the
    rows are spread over files, not the rows. Without a slab it is about 20 s. Raises InvalidRequest, and
    InvalidTrace if `out` is in use; whatever is raised, nothing is left behind.
    """
    check_request(clients, duration, seed)
    slab = checked_slab(step, slab)
    samples = count_samples(duration, step)
    manifest = Manifest(
        bypass=version(DISTRIBUTION),
        model=name,
        parameters=model.model_dump(mode="json"),
        seed=seed,
        clients=clients,
        duration=duration,
        step=step,
        samples=samples,
        slab=slab,
        size=model.size,
        attractions=model.attractions,
        georeference=model.georeference,
        blocks=first_clients(clients, samples * clients, engine.parallel, blocks),
        rows=samples * clients,
    )
    with new_folder(out):
        job = _Generation(model, out.absolute(), manifest)
        engine.run(job.write, manifest.block_bounds, progress)
        return finish(manifest, out)


def finish(manifest: Manifest, out: Path) -> Trace:
    """Say that the trace is complete. Raises InvalidTrace if it is not: workers may have another disk."""
    if (missing := missing_file(manifest, out)) is not None:
        raise missing
    manifest.save(out)
    return Trace.open(out)


@dataclass(frozen=True)
class _Generation:
    """The data that all pieces of work share. A piece is a block of clients."""

    model: MobilityModel
    out: Path
    manifest: Manifest

    def write(self, block: tuple[int, int]) -> None:
        seed = self.manifest.seed
        assert seed is not None
        waypoints = self.model.block(*block, self.manifest.duration, np.uint64(seed))
        write_block(self.out, self.manifest, block[0], waypoints)

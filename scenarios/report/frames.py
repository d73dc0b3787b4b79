"""Results as data frames, for notebooks: a row an event, or a row a phase, of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bypass.scenarios.figures.measures import Phase, precision, recall
from bypass.scenarios.figures.outcome import Run

if TYPE_CHECKING:
    from pandas import DataFrame


def events_frame(runs: Mapping[str, Run]) -> DataFrame:
    """The columns of events.parquet, with the name of the run before them."""
    import pandas as pd

    return pd.concat(
        [
            pd.DataFrame(
                {
                    "run": name,
                    **run.events,
                    "recall": recall(run.events),
                    "precision": precision(run.events),
                }
            )
            for name, run in runs.items()
        ],
        ignore_index=True,
    )


def phases_frame(runs: Mapping[str, Run]) -> DataFrame:
    """The figures of summary.json for each phase: means, percentiles of the delay, kbit/s per client, and the
    mechanisms by proxy."""
    import pandas as pd

    rows = [{"run": name, **_row(phase)} for name, run in runs.items() for phase in run.phases]
    return pd.DataFrame(rows)


def _row(phase: Phase) -> dict[str, Any]:
    return {
        "phase": phase.name,
        "start_s": phase.start_s,
        "end_s": phase.end_s,
        **{proxy: each["name"] for proxy, each in phase.mechanisms.items()},
        "recall": phase.recall.mean,
        "precision": phase.precision.mean,
        "delay_ms": phase.delay_ms.mean,
        "delay_ms_p50": phase.delay_ms.percentile(50),
        "delay_ms_p95": phase.delay_ms.percentile(95),
        "events": phase.events,
        "deliveries": phase.deliveries,
        **phase.traffic,
    }

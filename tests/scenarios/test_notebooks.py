"""Results in notebooks: their HTML, and their data frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.runner import run

SCENARIO = """
about: Two runs of a few clients, one of which has <another> scheme
clients: 10
duration: 20
timeline:
  - at: 10
    plan: {plan: t, actions: [{proxy: filter, to: grid}]}
runs:
  calm: {}
  coarse: {filter.scheme: ste}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("scenario") / "small.yaml"
    path.write_text(SCENARIO)
    return run(path, seed=3)


def test_results_are_short_in_one_line(result: Result) -> None:
    events = len(result.main.events["id"])
    assert repr(result.main) == f"Run(small: 10 clients, 20 s, seed 3, 2 phases, {events:,} events)"
    assert repr(result) == f"Result({result.main!r}, the main one of 2 runs)"


def test_a_notebook_shows_the_verdict_and_the_phases_of_all_runs(result: Result) -> None:
    html = result._repr_html_()
    assert "This scenario checks no figures." in html
    assert html.count("<table") == 2
    assert html.index("Run calm") < html.index("Run coarse")
    assert html.count('<th scope="row">') == 4


def test_events_of_all_runs_are_one_frame(result: Result) -> None:
    frame = result.events_frame()
    assert len(frame) == sum(len(each.events["id"]) for each in result.runs.values())
    assert list(frame.columns[:2]) == ["run", "id"]
    calm = frame[frame["run"] == "calm"]
    for name, column in result.runs["calm"].events.items():
        assert np.array_equal(calm[name].to_numpy(), column, equal_nan=column.dtype.kind == "f")
    mean = calm[calm["at_us"] < 10_000_000]["recall"].mean()
    assert mean == pytest.approx(result.phases[0].recall.mean)


def test_phases_of_all_runs_are_one_frame(result: Result, tmp_path: Path) -> None:
    frame = result.phases_frame()
    assert frame["run"].tolist() == ["calm", "calm", "coarse", "coarse"]
    assert frame["filter"].tolist() == ["radial", "grid", "ste", "grid"]
    for row, phase in zip(frame.itertuples(), [*result.phases, *result.runs["coarse"].phases], strict=True):
        assert (row.phase, row.start_s, row.end_s, row.events) == (
            phase.name,
            phase.start_s,
            phase.end_s,
            phase.events,
        )
        assert row.recall == phase.recall.mean
        assert row.delay_ms_p95 == phase.delay_ms.percentile(95)
        assert row.cellular_up == phase.traffic["cellular_up"]

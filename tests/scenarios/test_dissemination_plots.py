from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgba
from matplotlib.image import imread

from bypass.places.region import Place, Region
from bypass.scenarios.report.plots.maps.gateways import count_map, lorenz_curves
from bypass.scenarios.report.plots.maps.spread_map import spread_map
from bypass.scenarios.report.plots.style import SMALL, Picture, mechanism_colour
from bypass.scenarios.report.plots.time.shares import shares
from bypass.scenarios.report.plots.time.utilisation import NOTHING, Usage, UsageCourse, utilisation
from bypass.support.arrays import Floats

pytestmark = pytest.mark.slow

REGION = Region((0.0, 0.0, 100.0, 60.0), (Place("park", 50.0, 30.0, 20.0),))
KNOWN = ["unicast", "broadcast", "flooding", "gossip", "hyperg", "plan-b"]
EMPTY = np.array([])

courses = st.lists(
    st.lists(
        st.tuples(st.floats(-5, 70), st.sampled_from([*KNOWN, "another", NOTHING])),
        max_size=6,
    ).map(lambda changes: sorted(changes, key=lambda change: change[0])),
    min_size=1,
    max_size=6,
)


def texts(picture: Picture | None) -> list[str]:
    assert picture is not None
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg)


# -- who uses what -------------------------------------------------------------------------------------------


def test_every_mechanism_has_its_own_colour() -> None:
    assert len({mechanism_colour(name) for name in [*KNOWN, NOTHING]}) == len(KNOWN) + 1
    assert mechanism_colour("one of tomorrow") == mechanism_colour("one of tomorrow")


@given(courses, st.floats(1, 60))
@settings(max_examples=60, deadline=None)
def test_usage_is_what_each_client_used_last(some: list[UsageCourse], duration: float) -> None:
    usage = Usage(some, duration)
    middle = (usage.edges[:-1] + usage.edges[1:]) / 2
    assert (usage.edges[0], usage.edges[-1]) == (0, duration)
    for row, busy, course in zip(usage.used, usage.busy, some, strict=True):
        for step in range(0, len(middle), 37):
            begun = [name for at, name in course if at <= middle[step]]
            assert usage.names[row[step]] == (begun[-1] if begun else NOTHING)
            assert busy[step] == bool(begun and begun[-1] != NOTHING)
    assert usage.names == sorted(usage.names, key=[*KNOWN, "another", NOTHING].index)
    assert set(np.unique(usage.used)) == set(range(len(usage.names)))


def test_a_change_counts_from_its_moment_on_and_the_last_of_several() -> None:
    usage = Usage([[(1.0, "gossip"), (1.0, "unicast")]], 1200.0)
    assert usage.edges[:2].tolist() == [0.0, 2.0]
    assert usage.names == ["unicast"]


@given(courses)
@settings(max_examples=40, deadline=None)
def test_everybody_counts_once_in_every_step(some: list[UsageCourse]) -> None:
    usage = Usage(some, 60.0)
    counts = usage.counts()
    assert counts.shape == (len(usage.names), len(usage.edges) - 1)
    assert (counts.sum(axis=0) == len(some)).all()
    idle = counts[-1] if usage.names[-1] == NOTHING else 0
    assert (usage.busy.sum(axis=0) == len(some) - idle).all()


def test_utilisation_names_what_is_used() -> None:
    some: list[UsageCourse] = [[(0.0, "unicast"), (5.0, "gossip")], [(2.0, "unicast"), (4.0, NOTHING)], []]
    drawn = utilisation("Dissemination", some, 10.0)
    assert {"unicast", "gossip", NOTHING, "time (s)", "clients"} <= set(texts(drawn))
    assert "broadcast" not in texts(drawn)
    assert drawn is not None
    assert drawn.title == "Dissemination"
    assert drawn.note == "A line for each of 3 clients, in steps of 0.017 s."


def test_lines_have_the_colours_of_what_is_used_alike_clients_together() -> None:
    some: list[UsageCourse] = [
        [],
        [(0.0, "gossip")],
        [(5.0, "unicast")],
        [(0.0, "unicast"), (6.0, "gossip")],
        [(8.0, "gossip")],
    ]
    drawn = utilisation("a", some, 10.0)
    assert drawn is not None
    (encoded,) = re.findall(r'href="data:image/png;base64,([^"]*)"', drawn.svg)
    image = imread(BytesIO(b64decode(encoded)))
    quarter, last = image.shape[1] // 4, image.shape[1] - 1
    used = [
        ("unicast", "gossip"),
        (NOTHING, "unicast"),
        ("gossip", "gossip"),
        (NOTHING, "gossip"),
        (NOTHING, NOTHING),
    ]
    expected = [[to_rgba(mechanism_colour(name)) for name in row] for row in used]
    assert image.shape[0] == len(some)
    np.testing.assert_allclose(image[:, [quarter, last]], expected, atol=0.01)


def test_clients_with_many_changes_do_not_swell_the_picture() -> None:
    many: list[UsageCourse] = [
        [(at * 1.5 + client / 200, KNOWN[(at + client) % 6]) for at in range(1000)] for client in range(297)
    ]
    for picture in (utilisation("a", many, 1500.0), shares("a", many, 1500.0)):
        assert picture is not None
        assert len(picture.svg) < 400_000


def steps_of(picture: Picture | None, name: str) -> set[float]:
    """The heights of the corners of a mechanism's area, as shares of the highest."""
    assert picture is not None
    areas = re.findall(r'<path d="([^"]*)"[^>]*style="fill: ([^;"]*)', picture.svg)
    (area,) = [path for path, colour in areas if colour == mechanism_colour(name).lower() and len(path) > 200]
    heights = {float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", area)}
    bottom = max(heights)
    return {bottom - height for height in heights}


def test_shares_jump_where_clients_change_together() -> None:
    some: list[UsageCourse] = [
        [(0.0, "gossip"), (4.0, "unicast"), (6.0, "gossip"), (8.0, "unicast")],
        [(0.0, "gossip"), (4.0, "unicast"), (6.0, "unicast"), (7.0, "gossip")],
        [(0.0, "gossip"), (4.0, "unicast"), (6.0, "gossip"), (9.0, "unicast")],
        [(0.0, "gossip"), (4.0, "unicast")],
        [],
    ]
    drawn = shares("Mechanisms", some, 10.0)
    assert {"unicast", "gossip", NOTHING, "share of clients"} <= set(texts(drawn))
    assert drawn is not None
    assert drawn.note == "In the mean 80 % of 5 clients."
    # Unicast is used by 0, 4, 2, 1, 2 and 3 of 5 clients, and by no other number in between.
    heights = sorted(steps_of(drawn, "unicast"))
    assert np.array(heights) / heights[-1] == pytest.approx([0, 1 / 4, 2 / 4, 3 / 4, 1], abs=1e-4)


@pytest.mark.parametrize("some", [[], [[]], [[(0.0, NOTHING)], []], [[(20.0, "unicast")]]])
def test_who_uses_nothing_is_no_picture(some: list[UsageCourse]) -> None:
    assert utilisation("a", some, 10.0) is None
    assert shares("a", some, 10.0) is None


# -- how a transition spreads --------------------------------------------------------------------------------


def test_a_spread_says_how_many_followed_and_when() -> None:
    at = np.array([10.0, 40.0, 90.0])
    drawn = spread_map("T1 gossip", REGION, at, at / 2, np.array([0.4, 0.0, 0.1]), 5)
    assert {"x (m)", "y (m)", "delay (ms)", "share of clients"} <= set(texts(drawn))
    assert drawn is not None
    assert drawn.note.startswith(
        "3 of 5 clients followed, half of them within 100 ms, the last after 400 ms."
    )
    assert spread_map("T1 gossip", REGION, EMPTY, EMPTY, EMPTY, 5) is None


def test_a_dot_on_the_map_has_the_colour_of_its_delay_in_the_curve() -> None:
    x, y = np.array([10.0, 40.0, 90.0]), np.array([5.0, 50.0, 20.0])
    drawn = spread_map("T1 gossip", REGION, x, y, np.array([0.4, 0.0, 0.1]), 5)
    assert drawn is not None
    dots = re.findall(r'<use href="[^"]*" x="([\d.]+)" y="([\d.]+)" style="fill: (#\w+)"', drawn.svg)
    across, down, colours = zip(*dots, strict=True)
    world, course = np.array([across, down], float).T.reshape(2, 3, 2)
    # From the latest to the first on the map, from the first to the latest in the curve.
    assert colours[:3] == colours[:2:-1]
    assert len(set(colours)) == 3
    steps = np.diff(world, axis=0)
    assert steps / steps[0] == pytest.approx(np.array([[1, 1], [-50 / 80, 30 / 15]]), abs=1e-3)
    steps = np.diff(course, axis=0)
    assert steps / steps[0] == pytest.approx(np.array([[1, 1], [3, 1]]), abs=1e-3)


@pytest.mark.parametrize(
    "delays",
    [
        [0.0],
        [0.0, 0.0, 1e-6],
        [0.2],
        [0.0, 5000.0],
        [1e-6, 0.001, 1.0, 30.0, 0.0, 5000.0],
        [0.0] * 99 + [30.0],
    ],
)
def test_any_delays_can_be_drawn(delays: list[float]) -> None:
    delay_s = np.array(delays)
    place = np.linspace(1, 59, len(delays))
    words = texts(spread_map("T1", REGION, place, place, delay_s, 12))
    assert f"delay ({'s' if max(delays) >= 1 else 'ms'})" in words
    assert not any("$" in word for word in words)


def test_many_clients_do_not_swell_the_map() -> None:
    place = np.linspace(1, 59, 50_000)
    drawn = spread_map("T1", REGION, place, place, np.geomspace(0.1, 9, 50_000), 50_000)
    assert drawn is not None
    assert len(drawn.svg) < 150_000
    assert drawn.note.startswith("50000 of 50000 clients followed")


def test_delays_that_differ_much_are_drawn_logarithmically() -> None:
    place = np.linspace(1, 59, 50)
    words = texts(spread_map("T1", REGION, place, place, np.geomspace(0.01, 100, 50), 50))
    assert {"0.01", "1", "100"} <= set(words)
    words = texts(spread_map("T1", REGION, place, place, np.linspace(90, 100, 50), 50))
    assert {"0", "50", "100"} <= set(words)


# -- gateways ------------------------------------------------------------------------------------------------


def test_count_maps_reach_to_the_highest_mean() -> None:
    x, y = np.array([5.0, 6.0, 70.0, 90.0]), np.array([5.0, 6.0, 30.0, 50.0])
    drawn = count_map("Attempts", REGION, x, y, np.array([2.0, 8.0, 1.0, np.nan]), SMALL)
    assert drawn is not None
    assert (drawn.title, drawn.note) == ("Attempts", "At most 5 in a cell.")
    assert {"0", "4"} <= set(texts(drawn))
    assert count_map("Attempts", REGION, x, y, np.zeros(4), SMALL) is not None
    assert count_map("Attempts", REGION, x, y, np.full(4, np.nan), SMALL) is None
    assert count_map("Attempts", REGION, EMPTY, EMPTY, EMPTY, SMALL) is None


def lines_of(picture: Picture | None) -> list[Floats]:
    """The lines of more than two points, in shares of the axes."""
    assert picture is not None
    paths = re.findall(r'<path d="([^"]*)" clip-path[^>]*style="fill: none', picture.svg)
    points = [np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", path), float) for path in paths]
    corners = next(line for line in points if len(line) == 2 and (line[0] != line[1]).all())
    return [(line - corners[0]) / (corners[1] - corners[0]) for line in points if len(line) > 2]


def test_lorenz_curves_lie_below_equality_and_name_the_index() -> None:
    rows = [
        ("some", np.array([9, 0, 1, 0])),
        ("nobody", np.zeros(4, np.int64)),
        ("all", np.array([1, 2, 2, 3])),
    ]
    drawn = lorenz_curves("Gateways", rows)
    assert drawn is not None
    assert drawn.title == "Gateways, Jain's index 0.30 to 0.89"
    assert {"some (0.30)", "all (0.89)"} <= set(texts(drawn))
    assert not any("nobody" in word for word in texts(drawn))
    some, everybody = lines_of(drawn)
    assert some == pytest.approx(np.array([[0, 0], [0.25, 0], [0.5, 0], [0.75, 0.1], [1, 1]]), abs=1e-4)
    assert everybody == pytest.approx(
        np.array([[0, 0], [0.25, 1 / 8], [0.5, 3 / 8], [0.75, 5 / 8], [1, 1]]), abs=1e-4
    )


def test_a_single_lorenz_curve_has_its_index_in_the_title() -> None:
    drawn = lorenz_curves("Gateways", [("some", np.array([1, 0, 0, 0]))])
    assert drawn is not None
    assert drawn.title == "Gateways, Jain's index 0.25"
    assert (
        lorenz_curves("Gateways", [("nobody", np.zeros(3, np.int64)), ("empty", np.zeros(0, np.int64))])
        is None
    )
    assert lorenz_curves("Gateways", []) is None

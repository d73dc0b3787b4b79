"""Sizing: the formulas of entries and of loss by eviction, with figures that are known."""

import math

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bypass.cli.group import commands
from bypass.ingest.quantities import parse_bytes, parse_seconds
from bypass.ingest.sizing.entries import IGNITE, EntrySizes
from bypass.ingest.sizing.loss import PICKS, LossTolerance, evictions, fresh_loss, longest_window
from bypass.mechanisms.caches.random_2_lru import Random2Lru
from bypass.testing.worlds.caches import CacheNode

HOUR = 3600
RATE = 100_000


def test_the_memory_formula_gives_the_known_sizes_and_savings() -> None:
    assert IGNITE.standard() == 362.5
    assert IGNITE.saving(10) >= 0.80
    assert IGNITE.saving(60) == pytest.approx(0.898, abs=0.002)
    assert IGNITE.saving(1) < 0


@pytest.mark.parametrize(
    ("measurements", "size", "printed", "consistent"),
    [
        (1, 382.30, -5.46, -12.91),
        (2, 206.75, 42.97, 39.24),
        (3, 148.23, 59.11, 56.63),
        (5, 101.42, 72.02, 70.53),
        (8, 75.09, 79.29, 78.36),
        (10, 66.31, 81.71, 80.96),
        (15, 54.61, 84.94, 84.44),
        (20, 48.76, 86.55, 86.18),
        (30, 42.90, 88.16, 87.92),
        (60, 37.05, 89.78, 89.65),
        (1e12, 31.20, 91.39, 91.39),
    ],
)
def test_batching_saves_more_the_more_measurements_share_an_entry(
    measurements: float, size: float, printed: float, consistent: float
) -> None:
    assert IGNITE.batched(measurements, key_indexed=False) == pytest.approx(size, abs=0.006)
    assert 100 * IGNITE.saving(measurements, key_indexed=False) == pytest.approx(printed, abs=0.006)
    assert 100 * IGNITE.saving(measurements) == pytest.approx(consistent, abs=0.006)


def test_rates_of_data_are_those_that_are_published() -> None:
    assert RATE * IGNITE.standard() * 8 == pytest.approx(290e6)
    assert RATE * IGNITE.standard() * HOUR == pytest.approx(130.5e9)
    assert RATE * IGNITE.batched(60) * 8 == pytest.approx(30e6, rel=0.002)
    assert RATE * IGNITE.batched(60) * HOUR == pytest.approx(13.5e9, rel=0.002)
    assert RATE * IGNITE.batched(60, key_indexed=False) * 8 == pytest.approx(29.6e6, rel=0.002)


def test_sizes_of_another_store_are_given() -> None:
    assert EntrySizes(key=10, value=8, overhead=0, index=1).standard() == 18


@pytest.mark.parametrize(
    ("pages", "probability"), [(15, 0.0839), (20, 0.01625), (25, 0.00474), (30, 0.00177), (40, 0.000383)]
)
def test_ten_fresh_pages_are_lost_with_the_known_probability(pages: int, probability: float) -> None:
    assert fresh_loss(10, pages) == pytest.approx(probability, rel=0.003)


def test_a_store_for_an_hour_has_the_known_number_of_pages() -> None:
    fresh = evictions(HOUR, RATE * 128)
    assert fresh == 11_250_000
    assert LossTolerance(0.05, 0.99).probability(fresh) == pytest.approx(0.04985, abs=5e-6)
    assert LossTolerance(0.01, 0.99).probability(fresh) == pytest.approx(0.00993, abs=5e-6)
    assert LossTolerance(0.05, 0.99).pages(fresh) == 20_493_736
    assert LossTolerance(0.01, 0.99).pages(fresh) == 28_297_762


@pytest.mark.parametrize(("probability", "pages"), [(0.035, 21_995_756), (0.005, 32_460_745)])
def test_pages_for_published_probabilities(probability: float, pages: int) -> None:
    assert fresh_loss(11_250_000, pages) <= probability < fresh_loss(11_250_000, pages - 1)
    assert pages == pytest.approx(11_250_000 * probability**-0.2, rel=1e-6)  # the approximation for many


@given(st.floats(0.001, 0.999), st.floats(0.5, 0.999), st.integers(1, 100_000))
def test_no_more_is_lost_than_is_tolerated_with_the_confidence_that_is_asked_for(
    loss: float, confidence: float, count: int
) -> None:
    probability = LossTolerance(loss, confidence).probability(count)
    most = math.floor(loss * count)
    assert binom.cdf(most, count, probability) == pytest.approx(confidence, rel=1e-6)
    assert binom.cdf(most, count, min(1.0, probability * 1.01)) < confidence


@given(st.floats(0.01, 0.5), st.integers(5, 1000))
def test_a_store_has_the_fewest_pages_that_are_enough(loss: float, fresh: int) -> None:
    tolerance = LossTolerance(loss)
    pages, allowed = tolerance.pages(fresh), tolerance.probability(fresh)
    assert fresh_loss(fresh, pages) <= allowed
    assert pages == fresh or fresh_loss(fresh, pages - 1) > allowed


def test_the_window_shrinks_as_the_load_grows() -> None:
    """The published example: what was sized for 100,000 entries a second and an hour, under half as much
    again."""
    assert longest_window(21_995_756 * 4096, 150_000 * 128, 0.035) == pytest.approx(2400, abs=0.01)
    assert longest_window(21_995_756 * 4096, RATE * 128, 0.035) == pytest.approx(HOUR, abs=0.01)
    allowed = LossTolerance().probability(evictions(HOUR, RATE * 128))
    assert longest_window(20_493_736 * 4096, RATE * 128, allowed) == pytest.approx(HOUR, abs=0.01)
    assert longest_window(20_493_736 * 4096, 0, allowed) == math.inf


def test_a_store_that_evicts_the_oldest_needs_no_more_than_the_window() -> None:
    tolerance = LossTolerance(loss=1)
    assert tolerance.pages(1000) == 1000
    assert longest_window(1e6, 100, tolerance.probability(1000)) == 10_000


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"loss": 0}, "loss is 0: expected more than 0, at most 1"),
        ({"confidence": 1}, "confidence is 1: expected between 0 and 1"),
        ({"picks": 0}, "picks is 0: expected at least 1"),
    ],
)
def test_a_tolerance_that_is_none_is_refused(values: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        LossTolerance(**values)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="0 fresh pages: expected at least 1"):
        LossTolerance().pages(0)


def test_random_2_lru_evicts_fresh_pages_as_often_as_the_model_says() -> None:
    pages, fresh, rounds = 100, 60, 20_000
    node = CacheNode("random-2-lru", {"capacity": pages}, seed=7)
    for page in (
        *range(pages),
        *range(pages),
    ):  # each is used twice; `fresh` are the latest by the earlier use
        if node.cache.get(page) is None:
            node.cache.put(page, True)
    cache = node.engine.active("cache")
    assert isinstance(cache, Random2Lru)
    assert cache.picks == PICKS
    lost = 0
    for _ in range(rounds):
        page = cache.evict()
        lost += page.inserted > pages - fresh
        cache.added(page)
    expected = fresh_loss(fresh, pages)
    deviation = math.sqrt(expected * (1 - expected) / rounds)
    assert expected == pytest.approx(0.0725, abs=0.001)
    assert abs(lost / rounds - expected) < 4 * deviation


def test_sizes_are_computed_by_command() -> None:
    asked = ["ingest", "sizing", "--rate", "100000", "--bytes", "128", "--window", "1h"]
    result = CliRunner().invoke(commands, asked, catch_exceptions=False)
    assert result.output.splitlines()[1].split() == [
        "given", "128.0", "12,800,000", "46,080,000,000", "11,250,000", f"{20_493_736 * 4096:,}", "1.822",
    ]  # fmt: skip
    published = CliRunner().invoke(commands, [*asked[:4], *asked[6:]], catch_exceptions=False).output
    assert [line.split()[-6] for line in published.splitlines()[1:]] == ["362.5", "69.0", "37.5"]
    for option, value, text in (
        ("--loss", "0", "loss is 0.0: expected more than 0, at most 1"),
        ("--rate", "0", "expected more than 0"),
        ("--window", "soon", "'soon': expected a duration such as 30m, 1.5h or 7d"),
    ):
        result = CliRunner().invoke(commands, [*asked, option, value])
        assert isinstance(result.exception, BaseException)
        assert text in f"{result.exception} {result.output}"


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("30m", 1800), ("1.5h", 5400), ("7 d", 604_800)])
def test_durations_are_written_with_their_unit(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("20GB", 20 * 10**9), ("1.5 kB", 1500), ("2KB", 2000)]
)
def test_sizes_are_written_with_their_unit(text: str, size: int) -> None:
    assert parse_bytes(text) == size
    with pytest.raises(ValueError, match="'20 pounds': expected a number of bytes such as 500MB or 20GB"):
        parse_bytes("20 pounds")

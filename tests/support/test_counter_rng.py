from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest

from bypass.support.counter_rng import Purpose, normal_pair, philox, uniform_pair

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter_and_key", "words"),
    [
        ((0, 0, 0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_gives_its_published_answers(
    counter_and_key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    assert tuple(map(int, philox(*map(np.uint64, counter_and_key)))) == words


def test_draws_repeat_and_differ_in_each_part_of_their_key() -> None:
    keys = list(product((0, 1, 2**64 - 1), Purpose, (0, 1, 2**32 - 1), (0, 1, 2**32 - 1)))

    def drawn() -> list[tuple[float, float]]:
        return [uniform_pair(np.uint64(seed), *key) for seed, *key in keys]

    assert drawn() == drawn()
    assert len(set(drawn())) == len(keys)


def test_draws_are_uniform_and_normal_and_independent() -> None:
    uniform = np.array([uniform_pair(np.uint64(1), Purpose.MOBILITY, 7, n) for n in range(20_000)])
    normal = np.array([normal_pair(np.uint64(1), Purpose.MOBILITY, 7, n) for n in range(20_000)])
    assert uniform.min() >= 0
    assert uniform.max() < 1
    for column in range(2):
        assert kstest(uniform[:, column], "uniform").pvalue > 0.01
        assert kstest(normal[:, column], "norm").pvalue > 0.01
    for pairs in (uniform, normal, np.column_stack([uniform[:-1, 0], uniform[1:, 0]])):
        assert abs(np.corrcoef(pairs.T)[0, 1]) < 4 / np.sqrt(len(pairs))

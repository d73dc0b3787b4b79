from __future__ import annotations

from itertools import product

from bypass.models.streams import Purpose, stream


def test_streams_repeat_and_differ_in_each_part_of_their_key() -> None:
    keys = list(product((0, 1, 2**64 - 1), Purpose, (0, 1, 2**32 - 1)))
    drawn = [tuple(stream(*key).random(4).tolist()) for key in keys]
    assert drawn == [tuple(stream(*key).random(4).tolist()) for key in keys]
    assert len(set(drawn)) == len(keys)

"""The collector works rarely in a block, and as before after it."""

from __future__ import annotations

import gc

import pytest

from bypass.support.garbage import THRESHOLDS, rare_collections


def test_the_collector_is_as_it_was_after_the_block() -> None:
    before = gc.get_threshold()
    assert before != THRESHOLDS
    with rare_collections():
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == before
    with pytest.raises(ZeroDivisionError), rare_collections():
        1 / 0  # noqa: B018
    assert gc.get_threshold() == before


def test_the_collector_is_as_before_once_the_last_of_several_blocks_has_ended() -> None:
    """As when one broker of a process begins before another one ends."""
    before = gc.get_threshold()
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == THRESHOLDS
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before

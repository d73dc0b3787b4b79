"""Acknowledged objects that a store owes, and deleted ones that came back."""

from __future__ import annotations

import numpy as np

from bypass.objects.metadata import ObjectKey
from bypass.scenarios.figures.storage import (
    TRAFFIC,
    FollowedTag,
    StoredPost,
    StoreLayout,
    StoreWatch,
    store_figures,
)


def post(name: str, **more: object) -> StoredPost:
    made = StoredPost(ObjectKey(1, name), 1, frozenset(("beach",)), 10.0, acknowledged=True)
    for key, value in more.items():
        setattr(made, key, value)
    return made


def test_an_object_is_owed_in_its_world_alone() -> None:
    watch = StoreWatch()
    watch.posts = {0: post("here"), 1: post("there", world="other")}
    watch.follows = {
        0: FollowedTag(2, "beach", -np.inf, 20.0),
        1: FollowedTag(2, "beach", -np.inf, 5.0, world="other"),
        2: FollowedTag(1, "beach", -np.inf, 5.0),  # the owner
        3: FollowedTag(2, "sea", -np.inf, 5.0),
    }
    assert watch.owed() == {(0, ObjectKey(1, "here")): 20.0, (1, ObjectKey(1, "there")): 10.0}


def test_what_was_deleted_must_not_be_found() -> None:
    watch = StoreWatch()
    gone = {"deleted": 30.0, "is_gone": True}
    watch.posts = {
        0: post("kept"), 1: post("gone", **gone), 2: post("back", **gone), 3: post("asked", deleted=30.0),
    }  # fmt: skip
    found = {watch.posts[number].key for number in (0, 2, 3)}
    figures = store_figures(
        watch,
        found,
        found,
        dict.fromkeys(TRAFFIC, 0),
        {},
        StoreLayout(),
        [("x", 0.0)],
        [0.0],
        np.zeros(60),
        (),
        found,
    )
    assert (figures.returned, figures.lost) == (1, 0)
    assert figures.summary()["returned"] == 1

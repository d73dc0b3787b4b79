"""The policy of a device: the mechanism of pre-computation that it begins with, and its parameters."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bypass.mechanisms.registry import Registry
from bypass.transitions import Action, Plan

MECHANISMS = Registry()
"""The mechanisms that policies and plans of the pipeline may name."""

KEEP_EVERYTHING = "keep-everything"


class DevicePolicy(BaseModel):
    """A mechanism (`to`) with parameters (`set`); those that are not set have their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: Annotated[str, Field(min_length=1, max_length=256)]
    set: dict[str, JsonValue] = {}

    def __str__(self) -> str:
        """The policy in a line: the same for equal ones."""
        return self.to if not self.set else json.dumps({"to": self.to, "set": self.set}, sort_keys=True)


def parse_policy(text: str) -> str | DevicePolicy:
    """Give the policy that a record has: the name of a mechanism, or with parameters. Raises ValueError."""
    return DevicePolicy.model_validate_json(text) if text.startswith("{") else text


@lru_cache(maxsize=1024)
def policy_action(text: str) -> Action:
    """Give the action that has all devices served as the policy of a record says.

    Raises ValueError, UnknownMechanism and InvalidParameter if it cannot be carried out.
    """
    policy = parse_policy(text)
    to, values = (policy, {}) if isinstance(policy, str) else (policy.to, policy.set)
    action = Action(proxy="precompute", to=to, set=dict(values))
    MECHANISMS.check(Plan(plan="registry", actions=(action,)), ["pipeline"])
    return action

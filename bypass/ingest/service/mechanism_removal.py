"""The removal of mechanisms that an installation was given, unless something uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bypass.errors import BypassError, UnusableMechanism, shown
from bypass.ingest.adaptation.controller import read_policy
from bypass.ingest.devices.own_mechanisms import InvalidMechanismList, own_mechanisms, write_mechanisms
from bypass.ingest.devices.policy import parse_policy
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.plans import latest_plan, plans_between
from bypass.ingest.stream.progress import read_progress
from bypass.support.extensions import absolute, load
from bypass.transitions import Action


class MechanismInUse(BypassError):
    """Something would not find a mechanism if it were removed."""


def remove_mechanisms(folder: IngestFolder, references: Iterable[str]) -> list[str]:
    """Take mechanisms from an installation, all or none; gives the references that are left. Relative paths
    start from the working directory.

    Raises InvalidMechanismList for one that the installation has not, and MechanismInUse.
    """
    listed = own_mechanisms(folder)
    gone = [absolute(each, Path.cwd()) for each in references]
    for each in gone:
        if each not in listed:
            raise InvalidMechanismList(f"{folder.path}: {shown(each)}: expected one that was brought")
        try:
            name = str(load(each).name)
        except (UnusableMechanism, AttributeError):  # nothing can run what cannot be loaded
            continue
        for use in _uses(folder, name):
            raise MechanismInUse(f"mechanism {name}: {use}: expected that nothing uses it")
    left = [each for each in listed if each not in gone]
    write_mechanisms(folder, left)
    return left


def _uses(folder: IngestFolder, name: str) -> Iterator[str]:
    """Say in words where a mechanism is used."""
    if folder.registry.exists():
        with DeviceRegistry(folder.registry) as registry:
            policies = [parse_policy(text) for text in registry.policies()]
        if name in [policy if isinstance(policy, str) else policy.to for policy in policies]:
            yield "devices have it as their policy"
    progress = read_progress(folder.progress)
    if name in [policy.partition(" ")[0] for policy in progress.policies]:
        yield "the stream runs it"
    adaptive = read_policy(folder)
    if adaptive is not None and any(_names(each, name) for rung in adaptive.ladder for each in rung.actions):
        yield "the adaptive policy names it"
    latest: dict[str, Action] = {}
    for number, plan in plans_between(folder.plans, 0, latest_plan(folder.plans)):
        for action in plan.actions:
            if number > progress.offset.plans and _names(action, name):
                yield f"plan {number} names it, which is not carried out yet"
            latest[action.proxy] = action
    for proxy, action in latest.items():
        if proxy != "precompute" and _names(action, name):  # the stream tells which policies run
            yield f"the latest plan for {proxy} names it"


def _names(action: Action, name: str) -> bool:
    return name in (action.to, action.of)

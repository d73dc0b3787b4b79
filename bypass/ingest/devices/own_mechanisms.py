"""Mechanisms that an installation has been given: policies, row models, distributions and durabilities of
others, by reference. Its processes, each of which serves one installation, bring them before they look for a
mechanism."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from bypass.errors import BypassError, UnusableMechanism
from bypass.ingest.devices.policy import MECHANISMS
from bypass.ingest.folder import IngestFolder
from bypass.mechanisms.registry import Registry
from bypass.support.durable_files import replace_file
from bypass.support.extensions import absolute

log = logging.getLogger(__name__)


class InvalidMechanismList(BypassError):
    """A file of an installation that does not list mechanisms."""


def own_mechanisms(folder: IngestFolder) -> list[str]:
    """Read the references of an installation, in the order in which they came. Raises
    InvalidMechanismList."""
    try:
        listed = json.loads(folder.mechanisms.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError:
        listed = None
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidMechanismList(f"{folder.mechanisms}: expected a list of references, in JSON")
    return listed


def add_mechanisms(folder: IngestFolder, references: Iterable[str]) -> list[str]:
    """Give an installation mechanisms, beside those that it has; gives all references. Relative paths start
    from the working directory. Raises UnusableMechanism, and then nothing has changed."""
    known, registry = own_mechanisms(folder), Registry()
    for each in known:
        with suppress(UnusableMechanism):  # it could be used when it was given
            registry.bring(each)
    new = [absolute(each, Path.cwd()) for each in references]
    for each in new:
        registry.bring(each)
    listed = [*dict.fromkeys((*known, *new))]
    write_mechanisms(folder, listed)
    return listed


def write_mechanisms(folder: IngestFolder, listed: list[str]) -> None:
    """Have an installation list these references, and no others."""
    folder.path.mkdir(parents=True, exist_ok=True)
    replace_file(folder.mechanisms, json.dumps(listed, indent=1) + "\n")


def bring_mechanisms(folder: IngestFolder) -> Registry:
    """Have this process know the mechanisms of an installation; gives the registry that has them. One that
    cannot be used here is left out, with a warning."""
    for reference in own_mechanisms(folder):
        _bring(reference)
    return MECHANISMS


@cache  # a file that changes counts in processes that start later
def _bring(reference: str) -> None:
    try:
        MECHANISMS.bring(reference)
    except BypassError as error:
        log.warning("a mechanism of the installation is left out: %s", error)

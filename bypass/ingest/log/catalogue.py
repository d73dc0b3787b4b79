"""Logs by name: those built in, what installed packages offer, and what a reference leads to."""

from __future__ import annotations

import atexit
import inspect
import json
import os
from pathlib import Path
from urllib.parse import parse_qsl
from uuid import uuid4

from bypass.errors import shown
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.message_log import InvalidLog, MessageLog
from bypass.support.durable_files import replace_file
from bypass.support.extensions import absolute, load, load_installed

LOGS = {
    "segments": "bypass.ingest.log.segment_files:SegmentFiles",
    "nats": "bypass.ingest.log.jetstream.stream_log:JetStreamLog",
}
FIRST_LOG = "segments"
INSTALLED_LOGS = "bypass.logs"
"""The group of entry points by which installed packages offer logs."""

_open: dict[tuple[int, Path, str], MessageLog] = {}  # by process: threads do not survive a fork


def make_log(folder: IngestFolder, name: str) -> MessageLog:
    """Make the log of an installation: NAME, NAME://ADDRESS or either with ?OPTION=VALUE&... behind it.

    NAME is built in, offered by a package, or a reference, `module:Class` or `file.py:Class`. Raises
    InvalidLog and UnusableMechanism.
    """
    target, _, query = name.partition("?")
    kind, scheme, address = target.partition("://")
    reference = kind if ":" in kind else LOGS.get(kind)
    found = load(reference) if reference else load_installed(INSTALLED_LOGS, kind)
    if found is None:
        known = ", ".join(sorted(LOGS))
        raise InvalidLog(f"log {shown(name)}: expected one of {known}, module:Class, or what is installed")
    if not (isinstance(found, type) and issubclass(found, MessageLog)):
        raise InvalidLog(f"log {shown(name)}: {shown(found)}: expected a subclass of MessageLog")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InvalidLog(f"log {shown(name)}: {found.__name__} lacks {missing}: expected these methods")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    except ValueError:
        raise InvalidLog(f"log {shown(name)}: {shown(query)}: expected OPTION=VALUE&...") from None
    return found(folder, address if scheme else "", options)


def log_name(folder: IngestFolder) -> str:
    """Read the name of an installation's log. Raises InvalidLog."""
    try:
        name = json.loads(folder.log_name.read_text())["log"]
    except FileNotFoundError:
        return FIRST_LOG
    except (ValueError, KeyError, TypeError):
        raise InvalidLog(f'{folder.log_name}: expected {{"log": NAME}}') from None
    return str(name)


def choose_log(folder: IngestFolder, name: str) -> None:
    """Give an installation its log, once. Relative paths start from the working directory.

    Raises InvalidLog if it cannot be used, or if the installation has another one already.
    """
    target, question, query = name.partition("?")
    whole = absolute(target, Path.cwd()) + question + query
    make_log(folder, whole).close()
    known = log_name(folder)
    if known == whole:
        return
    if folder.log_name.exists() or folder.logs.exists():
        raise InvalidLog(f"{folder.path}: log {whole}: expected {known}, which it has")
    folder.path.mkdir(parents=True, exist_ok=True)
    replace_file(folder.log_name, json.dumps({"log": whole, "installation": uuid4().hex}) + "\n")


def find_log(folder: IngestFolder) -> MessageLog:
    """Give the log of an installation; this process keeps it open. Raises InvalidLog and
    UnusableMechanism."""
    key = os.getpid(), folder.path, log_name(folder)
    if key not in _open:
        _open[key] = make_log(folder, key[2])
    return _open[key]


@atexit.register
def close_logs() -> None:
    """Close the logs that this process has open."""
    for key in [key for key in _open if key[0] == os.getpid()]:
        _open.pop(key).close()

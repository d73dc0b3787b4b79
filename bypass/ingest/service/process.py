"""The frame of each process of an installation: arguments, log, signals, and its tie to the supervisor."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import threading
from collections.abc import Coroutine

from bypass.ingest.service.attachment import ATTACHED, end_with_supervisor

log = logging.getLogger(__name__)

_ENDS = (signal.SIGTERM, signal.SIGINT)


def process_arguments(name: str, parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the arguments of this process, begin its log under a name, and have it end with its supervisor if
    it has one."""
    parser.add_argument(ATTACHED, action="store_true")
    given = parser.parse_args()
    if given.attached:
        end_with_supervisor()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {name} %(levelname)s %(message)s")
    return given


def stop_signal() -> threading.Event:
    """Give an event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in _ENDS:
        signal.signal(number, lambda *_: stop.set())
    return stop


async def until_terminated(work: Coroutine[None, None, None]) -> None:
    """Do work until it ends, or SIGTERM or SIGINT cancels it. Raises what it raises."""
    task = asyncio.ensure_future(work)
    for number in _ENDS:
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")

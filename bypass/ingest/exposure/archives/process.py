"""The process of one archive."""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from pathlib import Path

from bypass.ingest.exposure.archives.archive import Archive
from bypass.ingest.exposure.archives.sinks import find_sink
from bypass.ingest.folder import IngestFolder


def main() -> None:
    """Run an archive of a folder until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("sink")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s archive %(levelname)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Archive(IngestFolder(given.folder), given.name, find_sink(given.sink)).run(stop)


if __name__ == "__main__":
    main()

"""The process of one archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from bypass.ingest.exposure.archives.archive import Archive
from bypass.ingest.exposure.archives.sinks import find_sink
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.process import process_arguments, stop_signal


def main() -> None:
    """Run an archive of a folder until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("sink")
    given = process_arguments("archive", parser)
    stop = stop_signal()
    Archive(IngestFolder(given.folder), given.name, find_sink(given.sink)).run(stop)


if __name__ == "__main__":
    main()

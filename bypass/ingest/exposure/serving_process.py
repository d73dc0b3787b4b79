"""The process of the HTTP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from pathlib import Path

from bypass.ingest.devices.own_mechanisms import bring_mechanisms
from bypass.ingest.exposure.server import ExposureServer
from bypass.ingest.folder import IngestFolder

log = logging.getLogger(__name__)


def main() -> None:
    """Serve a folder until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--serve", required=True)
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    parser.add_argument("--insecure", action="store_true")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s serving %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    bring_mechanisms(IngestFolder(given.folder))
    tls = (given.tls_cert, given.tls_key) if given.tls_cert else None
    server = ExposureServer(IngestFolder(given.folder), given.serve, tls=tls, insecure=given.insecure)
    asyncio.run(_until_terminated(server))


async def _until_terminated(server: ExposureServer) -> None:
    started = asyncio.Event()
    task = asyncio.ensure_future(server.run(started))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await asyncio.wait([task, asyncio.ensure_future(started.wait())], return_when=asyncio.FIRST_COMPLETED)
        if started.is_set():
            log.info("serving at port %d", server.port)
        await task
    except asyncio.CancelledError:
        log.info("stopped")


if __name__ == "__main__":
    main()

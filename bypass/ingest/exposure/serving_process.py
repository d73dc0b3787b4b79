"""The process of the HTTP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
from pathlib import Path

from bypass.ingest.devices.own_mechanisms import bring_mechanisms
from bypass.ingest.exposure.server import ExposureServer
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.process import process_arguments, until_terminated

log = logging.getLogger(__name__)


def main() -> None:
    """Serve a folder until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--serve", required=True)
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    parser.add_argument("--insecure", action="store_true")
    given = process_arguments("serving", parser)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    bring_mechanisms(IngestFolder(given.folder))
    tls = (given.tls_cert, given.tls_key) if given.tls_cert else None
    server = ExposureServer(IngestFolder(given.folder), given.serve, tls=tls, insecure=given.insecure)
    asyncio.run(until_terminated(_serve(server)))


async def _serve(server: ExposureServer) -> None:
    started = asyncio.Event()
    told = asyncio.ensure_future(_tell(server, started))
    try:
        await server.run(started)
    finally:
        told.cancel()


async def _tell(server: ExposureServer, started: asyncio.Event) -> None:
    await started.wait()
    log.info("serving at port %d", server.port)


if __name__ == "__main__":
    main()

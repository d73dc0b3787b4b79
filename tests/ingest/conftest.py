"""One nats-server for all tests of a worker."""

from collections.abc import Iterator

import pytest

from bypass.ingest.log.catalogue import close_logs
from tests.ingest.nats_servers import NatsServer, nats_server


@pytest.fixture(scope="session")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats") / "server") as server:
        yield server
        close_logs()

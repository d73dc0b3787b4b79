"""Real nats-servers on ports of their own, alone or three together."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bypass.testing.worlds.broker import PATIENCE, until

PROGRAM = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class NatsServer:
    """A server that keeps its streams in a folder; it can be killed and started again."""

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        synced: bool = False,
        name: str = "alone",
        routes: Sequence[int] = (),
        route: int = 0,
        more: str = "",
    ) -> None:
        """`more` is further configuration."""
        folder.mkdir(parents=True)
        self.name, self.port = name, port
        self.address = f"127.0.0.1:{port}"
        self._folder = folder
        cluster = f"""
cluster {{ name: bypass, listen: "127.0.0.1:{route}",
  routes: [{", ".join(f'"nats://127.0.0.1:{each}"' for each in routes)}] }}"""
        (folder / "server.conf").write_text(
            f"""server_name: {name}
listen: "{self.address}"
max_payload: 2MB
jetstream {{ store_dir: "{folder}", sync_interval: {"always" if synced else "2m"}, max_file: 1TB }}
"""
            + (cluster if routes else "")
            + more
        )
        self.start()

    def start(self) -> None:
        assert PROGRAM is not None, "nats-server is not installed"
        with (self._folder / "server.log").open("ab") as output:
            self._process = subprocess.Popen(
                [PROGRAM, "-c", str(self._folder / "server.conf")], stdout=output, stderr=output
            )
        until(self._listens)

    def kill(self) -> None:
        """End it as a machine that fails does (SIGKILL, by its id)."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def _listens(self) -> bool:
        assert self._process.poll() is None, "nats-server has ended"
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


@contextmanager
def nats_server(folder: Path, more: str = "") -> Iterator[NatsServer]:
    server = NatsServer(folder, free_ports(1)[0], more=more)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def nats_cluster(folder: Path) -> Iterator[list[NatsServer]]:
    """Three servers that sync before they acknowledge."""
    ports = free_ports(6)
    routes = ports[3:]
    servers: list[NatsServer] = []
    try:
        for number in range(3):
            options = {"name": f"n{number}", "routes": routes, "route": routes[number], "synced": True}
            servers.append(NatsServer(folder / f"n{number}", ports[number], **options))  # type: ignore[arg-type]
        yield servers
    finally:
        for server in servers:
            server.kill()

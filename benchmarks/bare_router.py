"""A ROUTER and nothing else: the limit for a broker that is written in Python on pyzmq.

Run with an address, a secret key ("-" for none) and a file of lists of numbers in JSON. The first packet on a
connection is its number and comes back; every other one begins with the number of a list, and goes to all
in that list.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import zmq


def serve(address: str, secret: str, lists: list[list[int]]) -> None:
    """Forward packets until the process is ended."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 1 << 16)
    socket = context.socket(zmq.ROUTER)
    socket.set(zmq.BACKLOG, 4096)
    if secret != "-":
        socket.curve_server = True
        socket.curve_secretkey = secret.encode()
    socket.bind(address)
    print("ready", flush=True)
    routes: dict[int, bytes] = {}
    known: set[bytes] = set()
    receive, send, more = socket.recv, socket.send, zmq.SNDMORE
    while True:
        route, packet = receive(), receive()
        if route not in known:
            known.add(route)
            routes[int(packet)] = route
            send(route, more)
            send(packet)
            continue
        (number,) = struct.unpack_from("<I", packet)
        for each in lists[number % len(lists)]:
            send(routes[each], more)
            send(packet)


if __name__ == "__main__" and len(sys.argv) == 4:
    serve(sys.argv[1], sys.argv[2], json.loads(Path(sys.argv[3]).read_text(encoding="utf-8")))

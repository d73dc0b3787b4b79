"""An operator's way to a live broker: one request, one answer."""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import zmq
from zmq.utils.monitor import recv_monitor_message

from bypass.errors import BypassError, shown
from bypass.live.client.arguments import check_endpoint
from bypass.live.keys import load_client_keys
from bypass.live.unfinished import LOOK_S, UnfinishedMessage
from bypass.protocol.session import RETRY, Bye, Control, Hello, Ping, Refused, Reply, Welcome
from bypass.protocol.wire import MAX_PACKET_BYTES, decode, encode, unpack

PATIENCE = 5.0


class OperatorFailed(BypassError):
    """The broker did not answer, or not what was asked."""


class Operator:
    """A connection for requests. Raises OperatorFailed without an answer in `patience` seconds."""

    def __init__(self, endpoint: str, keys: Path | None, *, patience: float = PATIENCE) -> None:
        """Without `keys`, the broker must be open. Raises InvalidEndpoint for what is no address of a broker,
        and InvalidKeys for keys that cannot be used."""
        check_endpoint(endpoint)
        self._endpoint = endpoint
        self._patience = patience
        self._number = 0
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 200
        self._socket.set(zmq.MAXMSGSIZE, MAX_PACKET_BYTES)
        self._socket.set(zmq.RCVHWM, 0)  # with a limit, a broker could have libzmq abort the process
        self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(zmq.Event.CONNECTED)
        self._unfinished: UnfinishedMessage | None = None  # as soon as there is a connection
        self._packets = 0
        try:
            if keys is not None:
                own = load_client_keys(keys)
                self._socket.curve_serverkey = own.broker
                self._socket.curve_publickey = own.public
                self._socket.curve_secretkey = own.secret
            self._socket.set(zmq.IPV6, "[" in endpoint)
            self._socket.connect(endpoint)
            self._socket.send(
                encode(
                    Hello(
                        f"operator-{secrets.token_hex(8)}",
                        secrets.randbits(63),
                        durable=False,
                        capabilities=(RETRY,),
                    )
                )
            )
            self._wait_for(Welcome, self._deadline())
        except zmq.ZMQError as error:
            self.close()
            raise OperatorFailed(f"broker {endpoint!r}: {error.strerror}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.send(encode(Bye(forget=True)))
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close()
        self._context.term()

    def ask(self, command: str, **arguments: Any) -> Any:
        """Give the broker's answer. Raises OperatorFailed with what it says is wrong."""
        self._number += 1
        self._socket.send(encode(Control(self._number, command, json.dumps(arguments).encode())))
        deadline = self._deadline()
        while True:
            reply = self._wait_for(Reply, deadline)
            assert isinstance(reply, Reply)
            if reply.request == self._number:
                break
        try:
            content = json.loads(reply.content)
            failure = None if reply.ok else str(content["error"])
        except (ValueError, LookupError, TypeError):
            raise OperatorFailed(
                f"broker {self._endpoint!r}: {shown(reply.content)}: expected an answer in JSON"
            ) from None
        if failure is not None:
            raise OperatorFailed(failure)
        return content

    def _deadline(self) -> float:
        return time.monotonic() + self._patience

    def _wait_for(self, kind: type[Welcome | Reply], deadline: float) -> Welcome | Reply:
        while (left := deadline - time.monotonic()) > 0:
            if not self._socket.poll(int(1000 * min(left, LOOK_S)) + 1):
                self._look_at_message()
                continue
            self._packets += 1
            for data in unpack(self._socket.recv()):
                message = decode(data)
                if isinstance(message, kind):
                    return message
                if isinstance(message, Refused):
                    raise OperatorFailed(f"broker {self._endpoint!r}: {message.reason}")
                if isinstance(message, Ping) and message.asks:
                    self._socket.send(encode(Ping()))
        raise OperatorFailed(
            f"broker {self._endpoint!r}: no answer in {self._patience:g} s: expected a broker there "
            "that admits this key"
        )

    def _look_at_message(self) -> None:
        """Raises OperatorFailed if a message comes that does not end."""
        while self._monitor.poll(0):  # another connection than the one before
            self._unfinished = UnfinishedMessage(recv_monitor_message(self._monitor)["value"])
        wrong = "" if self._unfinished is None else self._unfinished.too_large(self._packets)
        if wrong:
            raise OperatorFailed(f"broker {self._endpoint!r}: {wrong}")

"""MQTT: devices publish to APPLICATION/CATEGORY/ID, and the connector is subscribed to that at a broker.

A message of QoS 1 is acknowledged once the log has it; one of QoS 0 is promised nothing. The session is
persistent: what the broker has acknowledged to a device waits there for the connector, and what was not
acknowledged to the broker comes again. The broker must be told to keep its sessions on disk and to queue as
much as may come while a connector is away (mosquitto: persistence, max_queued_messages).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bypass.ingest.connectors.balance import Balance
from bypass.ingest.connectors.connector import Address, Connector, InvalidConnector
from bypass.ingest.connectors.filters import UnreadableTopic
from bypass.ingest.connectors.intake import FOR_GOOD, LogIntake, MessageRefused
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.log.leases import LeasesFailed
from bypass.live.addresses import is_loopback
from bypass.mechanisms.registry import Registry
from bypass.root_error import BypassError

MOST_IN_FLIGHT = 1000
"""Messages that the broker may send before the first of them is acknowledged, and so send again."""

SESSION_S = 7 * 24 * 3600
"""How long an MQTT 5 broker keeps the session of a connector that is away."""

CONFIRMED_S = 10.0
ROOM_S = 5.0
RECONNECT_S = (1, 30)
_VERSIONS = {"3.1.1": MQTTProtocolVersion.MQTTv311, "5": MQTTProtocolVersion.MQTTv5}

log = logging.getLogger(__name__)


class NotConfirmed(BypassError):
    """The broker did not confirm subscriptions."""


def check_password(address: str, is_sent: bool, is_safe: bool) -> None:
    """Refuse to send a password to another machine unless that is safe, or was asked for. Raises
    InvalidConnector, also for no address."""
    host, _ = Address.of("mqtt", address)
    try:
        is_here = is_loopback(host)
    except OSError:  # a name that nobody knows now may be another machine's later
        is_here = False
    if is_sent and not is_safe and not is_here:
        raise InvalidConnector(
            f"mqtt: address {address}: is another machine, which would be sent a password without TLS: "
            "expected --mqtt-ca, or --insecure"
        )


class MqttConnector(Connector):
    """A session with the broker at `address`, HOST:PORT, under a name that stays the same in all lives.

    `credentials` are a user and a password; `authority` is the file of the certificates that a broker with
    TLS has to show one of, or "system" for those of the operating system.
    """

    def __init__(
        self,
        address: str,
        membership: Membership,
        *,
        version: Literal["3.1.1", "5"] = "5",
        credentials: tuple[str, str] | None = None,
        authority: Path | Literal["system"] | None = None,
        insecure: bool = False,
        distribution: str = "synchronised",
        registry: Registry | None = None,
    ) -> None:
        """Raises InvalidConnector, and UnknownMechanism for the distribution."""
        check_password(address, credentials is not None, authority is not None or insecure)
        self._address = Address.of("mqtt", address)
        if version not in _VERSIONS:
            raise InvalidConnector(f"mqtt: version {version!r}: expected 3.1.1 or 5")
        self.name = f"{membership.filters.application}-{membership.node.name}"
        self._membership = membership
        self._version = _VERSIONS[version]
        self._client = self._make_client(credentials, authority)
        self.balance = Balance(membership, self, registry, distribution)
        self._connection = 0
        self._told = False  # whether it was logged that this connection has its subscriptions
        self._connected = asyncio.Event()
        self._confirmations: dict[int, asyncio.Future[None]] = {}
        self._room = threading.BoundedSemaphore(MOST_IN_FLIGHT)
        self._sending = threading.Lock()  # acknowledgements belong to the connection that the message came by

    def _make_client(
        self, credentials: tuple[str, str] | None, authority: Path | Literal["system"] | None
    ) -> Client:
        five = self._version == MQTTProtocolVersion.MQTTv5
        client = Client(
            CallbackAPIVersion.VERSION2,
            self.name,
            clean_session=None if five else False,
            protocol=self._version,
            manual_ack=True,
        )
        if credentials is not None:
            client.username_pw_set(*credentials)
        if authority is not None:
            try:
                client.tls_set(None if authority == "system" else str(authority))
            except OSError as error:
                raise InvalidConnector(
                    f"mqtt: {authority}: {error.strerror}: expected certificates"
                ) from None
        client.reconnect_delay_set(*RECONNECT_S)
        client.max_queued_messages_set(MOST_IN_FLIGHT)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = client.on_unsubscribe = self._on_confirmed
        return client

    async def start(self, intake: LogIntake) -> None:
        self._intake = intake
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._membership.join)
        five = self._version == MQTTProtocolVersion.MQTTv5
        properties = Properties(PacketTypes.CONNECT) if five else None  # type: ignore[no-untyped-call]
        if properties is not None:
            properties.SessionExpiryInterval = SESSION_S
            properties.ReceiveMaximum = MOST_IN_FLIGHT
        options: dict[str, Any] = {"clean_start": False, "properties": properties} if five else {}
        self._client.connect_async(*self._address, keepalive=30, **options)
        self._client.loop_start()
        self._balancing = asyncio.create_task(self._keep_balance())

    async def stop(self) -> None:
        self._balancing.cancel()
        with suppress(asyncio.CancelledError):
            await self._balancing
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)
        with suppress(LeasesFailed):  # then its lease runs out
            await asyncio.to_thread(self._membership.leave)

    # -- subscriptions, in the loop -----------------------------------------------------------------------

    async def subscribe(self, filters: frozenset[str]) -> None:
        """Subscribe, and return when the broker has confirmed it. Raises NotConfirmed."""
        await self._confirmed(self._client.subscribe([(each, 1) for each in sorted(filters)]))

    async def unsubscribe(self, filters: frozenset[str]) -> None:
        """Unsubscribe, and return when the broker has confirmed it. Raises NotConfirmed."""
        await self._confirmed(self._client.unsubscribe(sorted(filters)))

    async def _confirmed(self, sent: tuple[MQTTErrorCode, int | None]) -> None:
        code, number = sent
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS or number is None:
            raise NotConfirmed(f"{self.name}: {code.name}: expected a connection")
        answer = self._confirmations[number] = self._loop.create_future()
        try:
            async with asyncio.timeout(CONFIRMED_S):
                await answer
        except TimeoutError:
            raise NotConfirmed(f"{self.name}: no answer in {CONFIRMED_S:g} s: expected one") from None
        finally:
            del self._confirmations[number]

    def _confirm(self, number: int, problem: str) -> None:
        answer = self._confirmations.get(number)
        if answer is None or answer.done():
            return
        if problem:
            answer.set_exception(NotConfirmed(f"{self.name}: {problem}: expected a confirmation"))
        else:
            answer.set_result(None)

    async def _keep_balance(self) -> None:
        """Renew the lease and balance, while there is a connection: others take over from one without."""
        while True:
            await self._connected.wait()
            settled = False
            try:
                settled = await self.balance.step()
            except (LeasesFailed, NotConfirmed) as error:
                log.warning("%s: subscriptions are not in step: %s; trying again", self.name, error)
            if settled and not self._told:
                self._told = True
                log.info("%s: is subscribed at %s:%d", self.name, *self._address)
            # A third of the lease: two attempts may fail. Others are waited for with less patience.
            await asyncio.sleep(self._membership.lease_s / (3 if settled else 30))

    def _began(self, session_kept: bool) -> None:
        self._told = False
        self.balance.begin(session_kept=session_kept)
        self._connected.set()

    def _ended(self) -> None:
        self._connected.clear()
        for number in self._confirmations:
            self._confirm(number, "the connection ended")

    # -- in the thread of the client ----------------------------------------------------------------------

    def _on_connect(self, _client: Client, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            log.warning("%s: %s:%d refuses: %s; trying again", self.name, *self._address, reason)
            return
        self._loop.call_soon_threadsafe(self._began, flags.session_present)

    def _on_connect_fail(self, _client: Client, _data: Any) -> None:
        log.warning("%s: %s:%d does not answer; trying again", self.name, *self._address)

    def _on_disconnect(self, _client: Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        with self._sending:
            self._connection += 1
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._ended)
        log.info("%s: connection to %s:%d ended: %s", self.name, *self._address, reason)

    def _on_confirmed(self, _client: Client, _data: Any, number: int, codes: Any, _properties: Any) -> None:
        problem = next((str(code) for code in codes if code.is_failure), "")
        self._loop.call_soon_threadsafe(self._confirm, number, problem)

    def _on_message(self, client: Client, _data: Any, message: MQTTMessage) -> None:
        try:
            device = self._membership.filters.device(message.topic)
        except (UnreadableTopic, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, UnreadableTopic) else "malformed topic"
            self._intake.refuse(reason)
            client.ack(message.mid, message.qos)
            return
        if message.qos == 0:
            with suppress(MessageRefused):  # which is counted
                self._intake.submit_unacknowledged(device, bytes(message.payload))
            return
        self._hand_in(device, message)

    def _hand_in(self, device: str, message: MQTTMessage) -> None:
        """Hand in a message that is acknowledged when the log has it, or when it can never be taken."""
        if not self._room.acquire(timeout=ROOM_S):
            self._break_off(f"{MOST_IN_FLIGHT} messages are not in the log yet")
            return
        try:
            done = self._intake.submit(device, bytes(message.payload))
        except MessageRefused as error:
            self._room.release()
            if error.reason in FOR_GOOD or error.reason == "device rate":
                self._client.ack(message.mid, message.qos)
            else:
                self._break_off(str(error))
            return
        done.add_done_callback(partial(self._logged, message.mid, self._connection))

    def _logged(self, number: int, connection: int, done: Future[None]) -> None:
        """Acknowledge a message, in the thread of the intake. The number means another message by now if the
        connection is another one: then it comes again, and is acknowledged then."""
        self._room.release()
        error = done.exception()
        if error is not None:
            self._break_off(str(error))
            return
        with self._sending:
            if connection == self._connection:
                self._client.ack(number, 1)

    def _break_off(self, why: str) -> None:
        """End the connection: after the next one is made, the broker sends again what could not be taken."""
        log.warning("%s: a message cannot be taken: %s; the connection is made again", self.name, why)
        made = self._client.socket()
        if isinstance(made, socket.socket):
            with suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)

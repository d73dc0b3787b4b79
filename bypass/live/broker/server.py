"""The live broker: sockets, sessions and a store around the broker that decides who gets what."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace
from functools import partial

from bypass.core.broker import Broker
from bypass.live.broker.borders import LiveBorders
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.delivery.retention import RetentionLimits
from bypass.live.broker.housekeeping import Housekeeping
from bypass.live.broker.loop.listener import Listener
from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.objects.object_service import ObjectService
from bypass.live.broker.reception.greeting import Greeting
from bypass.live.broker.reception.intake import Intake
from bypass.live.broker.reception.presence import ClientPresence
from bypass.live.broker.reception.publications import PendingPublications
from bypass.live.broker.reception.reception import Reception, excess
from bypass.live.broker.sessions.quotas import Quotas
from bypass.live.broker.sessions.sessions import Sessions, restored
from bypass.live.broker.settings import Settings
from bypass.live.broker.startup import Starting
from bypass.live.broker.store.store import Store
from bypass.live.broker.turns import Turns
from bypass.live.broker.warmup import warm_up
from bypass.live.host import LiveHost
from bypass.places.geo import GeoLocation, Projection
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import EXPECTED_DELAY, Reading
from bypass.protocol.session import Bye
from bypass.protocol.wire import encode
from bypass.support.garbage import rare_collections
from bypass.transitions import Record

log = logging.getLogger(__name__)


class BrokerServer:
    """A broker that clients reach over the network. `run` serves until `stop` is called.

    Everything but `stop` is for the thread that runs it; `loop.soon` has something done there. Sessions,
    subscriptions, schemes and events that are on their way are in the store: a server that is started on the
    same store goes on where the one before it ended, however that was.
    """

    def __init__(self, config: BrokerConfig) -> None:
        """Raises what is wrong with the keys, the store or an address; nothing is left open then."""
        self.config = config
        self.counters: Counter[str] = Counter()
        self.store = Store(config.store, sync=config.sync)
        self.loop, starting = Loop(), Loop()
        try:
            self.listener = Listener(config, starting)
            try:
                Starting(self.listener, starting, partial(warm_up, config.registry), self._restore).run()
            except BaseException:
                self.listener.close()
                raise
        except BaseException:
            self.loop.close()
            self.store.close()
            raise
        finally:
            starting.close()
        self.listener.serve(self.loop)
        self.socket = self.listener.socket
        parts = (config, self.broker, self.sessions, self.deliveries, self.counters)
        clocks = (self.loop.now, self.settings.served)
        self.attendance = ClientPresence(*parts, *clocks, self.listener.allow_list)
        greeting = Greeting(*parts, self.attendance, *clocks, self.listener.allow_list)
        publications = PendingPublications(
            config.limits, self.broker, self.deliveries, self.counters, self.attendance
        )
        self.broker.ends.end = self._expired
        self.reception = Reception(*parts, self.attendance, publications, self.objects)
        self.intake = Intake(
            self.listener,
            config.limits,
            self.sessions,
            self.deliveries,
            self.attendance,
            greeting,
            self.reception,
            publications,
            self.counters,
            self.loop.now,
            lambda: self.loop.again(self.socket),
        )
        self.loop.serve(self.socket, self.intake.read)
        self.listener.authenticator.has_place = greeting.may_connect
        self.listener.authenticator.is_busy = lambda: self.intake.behind
        self.turns = Turns(
            self.loop,
            self.store,
            self.broker,
            self.settings,
            self.sessions,
            self.deliveries,
            self.attendance,
            self.reception,
            self.intake,
            self.counters,
            self.borders,
        )
        self.housekeeping = Housekeeping(
            self.loop,
            config.heartbeat,
            self.broker,
            self.settings,
            self.sessions,
            self.listener.connections,
            self.deliveries,
            self.attendance,
            self.reception,
            self.intake,
        )

    # -- life ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop` is called; then what was begun is finished, and clients are told.

        Meanwhile the process looks for cyclic garbage less often: a turn makes thousands of objects that stay
        until it is sent, no cycles.
        """
        try:
            with rare_collections():
                self.loop.run()
        finally:
            self.close()

    def stop(self) -> None:
        """End gracefully; from any thread."""
        self.loop.soon(self._begin_to_close)

    @property
    def endpoints(self) -> list[str]:
        """The addresses that clients can connect to; what was to be any free port is a number here."""
        return self.listener.endpoints

    # -- transitions --------------------------------------------------------------------------------------

    def transition_finished(self, record: Record) -> None:
        """The store must know what is configured now, before clients are told."""
        self.settings.changed = True
        content = json.dumps(record.to_dict())
        self.deliveries.turn.record(self.loop.now(), "transition", content)

    # -- start --------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        loaded, config = self.store.load(), self.config
        self.settings = Settings(loaded.settings)
        self.sessions = Sessions(
            Quotas(config.limits, config.open, self.loop.now), self.settings.first_number
        )
        # Places in the log that were given to what could not be stored may be in cursors all the same.
        marks = [mark for stored in loaded.clients for mark in (stored.mark, *stored.lanes.values())]
        last_seq = max([loaded.last_seq, *(mark.cursor for mark in marks)])
        self.deliveries = Deliveries(
            self.sessions,
            self.store,
            self.listener.send,
            self.settings.served,
            RetentionLimits(config.limits.pending_events, config.limits.pending_age),
            last_seq,
            self.loop.after,
            self.loop.soon,
            config.grace,
            config.registry.codec,
        )
        config.registry.flags.restore(self.settings.flags)
        configured = config.region.region()
        region = replace(
            configured,
            places=self.settings.places.applied(configured.places),
            generations=self.settings.generations(),
        )
        origin = config.region.origin
        self.projection = None if origin is None else Projection.around(GeoLocation(*origin))
        host = LiveHost(0, self.loop, NoSensor(), Monitor())
        self.broker = Broker(
            host,
            self.deliveries,
            region=region,
            scheme=config.scheme,
            set=config.set,
            grace=config.grace,
            registry=config.registry,
            clients=self.sessions,
            pending_changed=self.settings.pending_plans.changed,
            projection=self.projection,
        )
        self.borders = LiveBorders(self.broker, self.sessions, config.registry.codec, loaded.settings)
        for stored in loaded.clients:
            session = restored(stored, config.registry.codec)
            together = sum(session.sizes.values())
            for handle, message in session.handles.items():
                if much := excess(config.limits, message, session.sizes[handle], together):
                    self.counters["subscriptions_over_limit"] += 1
                    log.warning("%s: kept subscription %d goes on: %s", stored.name, handle, much)
            self.sessions.add(session, self.sessions.quotas.owner(stored.name), stored.mark.cursor)
            for handle, mark in stored.lanes.items():
                self.sessions.add_lane(session, handle, mark.cursor)
            self.broker.admit(stored.number, session.handles.values(), stored.place)
        for account in {session.account for session in self.sessions}:
            if much := account.excess(config.limits):
                self.counters["subscriptions_over_limit"] += 1
                log.warning("kept subscriptions go on: %s", much)
        self.deliveries.kept.restore(loaded.clients, loaded.waiting)
        if self.settings.restore(self.broker, self.sessions):
            log.info(
                "restored %d sessions, epoch %d, from %s",
                len(self.sessions),
                self.broker.rollout.epoch,
                config.store,
            )
        self.settings.pending_plans.restore(self.broker.rollout, self.sessions)
        self.borders.restore(loaded)
        self.broker.engine.add_listener(self)
        self.broker.host.state_info.provide(EXPECTED_DELAY, self._expected_delay)
        self.objects = ObjectService(
            config, self.loop, self.sessions, self.deliveries.to_route, self.counters
        )

    def _expired(self, client: int, handle: int) -> None:
        """The time of a subscription is over, and its client has not ended it."""
        session = self.sessions.by_number.get(client)
        if session is not None:
            self.attendance.withdraw(session, handle)

    def _expected_delay(self, client: int) -> Reading[float] | None:
        now = self.loop.now()
        delay = self.deliveries.delays.delay(client, now)
        return None if delay is None else Reading(delay, now)

    # -- end ----------------------------------------------------------------------------------------------

    def _begin_to_close(self) -> None:
        self.intake.closed = True
        self.deliveries.feeding.stop()
        self.housekeeping.note_all()
        farewell = encode(Bye())
        for route in list(self.sessions.by_route):
            self.deliveries.turn.send(route, farewell)
        self.turns.finish()

    def close(self) -> None:
        """Let go of the store and the sockets; for a server that is not run."""
        self.turns.close()
        self.objects.close()
        self.deliveries.close()
        self.loop.close()
        self.store.close()
        self.listener.close()

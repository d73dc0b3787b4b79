"""Requests of operators to a live broker, and their answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bypass.errors import BypassError, shown
from bypass.live.broker.operations.outlines import place_entry
from bypass.live.broker.operations.plan_log import PlanLog
from bypass.live.broker.operations.status import Status
from bypass.live.broker.plans.place_changes import places_of
from bypass.live.broker.reception.presence import ADMIN
from bypass.live.broker.server import BrokerServer
from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.session import Control as Request
from bypass.protocol.session import Reply
from bypass.transitions import Plan, TransitionError
from bypass.transitions.validation import first_problem

log = logging.getLogger(__name__)

POSITIONS_TOLD = 1000
"""In an answer, so that it stays small enough to be sent, however long names are."""


class ControlFailed(BypassError):
    """A request that cannot be fulfilled."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExecuteArguments(_Arguments):
    """A plan; only for clients with these names, or in an area as plans have it, if either is given."""

    plan: dict[str, Any]
    clients: tuple[str, ...] | None = None
    area: str | list[float] | dict[str, Any] | None = None
    dry_run: bool = False


class PlacesArguments(_Arguments):
    """Features of GeoJSON that are places from now on, and names of those that are none any more."""

    put: tuple[dict[str, Any], ...] = ()
    remove: tuple[str, ...] = ()


class LogArguments(_Arguments):
    """So many of the latest records, or of those before one."""

    limit: int = Field(default=20, ge=1, le=1000)
    before: int | None = Field(default=None, ge=0, lt=2**63)  # what the store can compare with


class StatusArguments(_Arguments):
    """Nothing."""


class OperatorControl:
    """Answers the requests of clients with the right to make them; others are refused and counted."""

    def __init__(self, server: BrokerServer, plans: PlanLog, status: Status) -> None:
        self._server = server
        self._plans = plans
        self._status = status
        self._commands: dict[str, tuple[type[_Arguments], Callable[[Session, Any], Any]]] = {
            "status": (StatusArguments, self._tell_status),
            "execute": (ExecuteArguments, self._execute),
            "log": (LogArguments, self._tell_log),
            "places": (PlacesArguments, self._change_places),
        }
        server.reception.on_control = self._asked

    def _asked(self, session: Session, request: Request) -> None:
        try:
            content, ok = self._answer(session, request), True
        except (BypassError, TransitionError) as error:
            content, ok = {"error": " ".join(str(error).split())}, False
        data = json.dumps(content).encode()
        self._server.deliveries.send(session.number, Reply(request.request, ok, data))

    def _answer(self, session: Session, request: Request) -> Any:
        if ADMIN not in session.rights:
            self._server.counters["unauthorised"] += 1
            log.warning("%s asked for %r without the right to", session.name, request.command)
            raise ControlFailed(f"{session.name}: expected a key with the right {ADMIN!r}")
        if request.command not in self._commands:
            known = ", ".join(self._commands)
            raise ControlFailed(f"command {request.command!r}: expected one of {known}")
        kind, answer = self._commands[request.command]
        try:
            arguments = kind.model_validate_json(request.content or b"{}")
        except ValidationError as error:
            problem = first_problem(error)
            raise ControlFailed(f"{request.command}: {problem.key}: {problem.message}") from None
        return answer(session, arguments)

    def _tell_status(self, session: Session, arguments: StatusArguments) -> Any:  # noqa: ARG002
        self._status.refresh()
        snapshot = {name: value for name, value in self._status.snapshot.items() if name != "areas"}
        return {**snapshot, "positions": snapshot["positions"][:POSITIONS_TOLD]}

    def _tell_log(self, session: Session, arguments: LogArguments) -> Any:  # noqa: ARG002
        records = self._server.store.records(arguments.limit, arguments.before)
        return [
            {"number": number, "type": kind, **json.loads(content), "at": at}
            for number, at, kind, content in records
        ]

    def _execute(self, session: Session, arguments: ExecuteArguments) -> Any:
        plan = Plan.from_data(arguments.plan)
        if not plan.who:
            plan = plan.model_copy(update={"who": session.name})
        plan = self._restricted(plan, arguments)
        broker = self._server.broker
        broker.registry.check(plan)
        plan = broker.plan_areas.resolved(plan, arguments.dry_run)
        if not plan.actions:
            raise ControlFailed(f"plan {plan.plan!r}: expected at least one client in its areas")
        if arguments.dry_run:
            proxies = broker.registry.proxies("broker")
            here = tuple(action for action in plan.actions if action.proxy in proxies)
            foreseen = plan.model_copy(update={"actions": here}).dry_run(broker.engine) if here else []
            return {"dry_run": True, "records": [record.to_dict() for record in foreseen]}
        records = broker.execute(plan)
        return {
            "dry_run": False,
            "epoch": broker.rollout.epoch,
            "records": [record.to_dict() for record in records],
            "execution": self._plans.latest(1)[0],
        }

    def _restricted(self, plan: Plan, arguments: ExecuteArguments) -> Plan:
        if arguments.clients is None and arguments.area is None:
            return plan
        members: list[int] = []
        if arguments.clients is not None:
            for name in arguments.clients:
                session = self._server.sessions.by_name.get(name)
                if session is None:
                    raise ControlFailed(f"client {name!r}: expected the name of a session")
                members.append(session.number)
        if arguments.area is not None:
            members += self._server.broker.plan_areas.members(arguments.area, arguments.dry_run)
        if not members:
            raise ControlFailed(f"area {shown(arguments.area)}: expected at least one client in it")
        data = plan.model_dump(mode="json", exclude_defaults=True)
        for action in data["actions"]:
            action["members"] = list(dict.fromkeys(members))
        return Plan.from_data(data)

    def _change_places(self, session: Session, arguments: PlacesArguments) -> Any:  # noqa: ARG002
        server = self._server
        places = server.broker.places
        if arguments.put or arguments.remove:
            put = places_of(arguments.put, server.projection)
            places.change(put, arguments.remove)
            server.settings.change_places(put, arguments.remove)
        return [place_entry(place) for place in places.all]

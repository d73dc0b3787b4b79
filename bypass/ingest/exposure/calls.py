"""The calls over HTTP: metadata, devices, latest, range and register, each for the tenant of its token."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bypass.errors import shown
from bypass.ingest.devices.device import Device, InvalidDevice, make_device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.policy import DevicePolicy
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.devices.registry import DeviceConflict, DeviceRegistry
from bypass.ingest.exposure.answers import InvalidCall, RequestTooLarge, answer
from bypass.ingest.exposure.parameters import (
    granted,
    limit_of,
    parameters_of,
    read_place,
    selection_of,
    write_place,
)
from bypass.ingest.exposure.query_turns import QueryTurns
from bypass.ingest.exposure.tenant_limits import ServingLimits, TenantLimits
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.plain_rows import plain_rows
from bypass.ingest.queries.reader import MeasurementReader
from bypass.ingest.queries.rows_query import PAGE_BYTES
from bypass.ingest.queries.selection import Selection

BODY_S = 30.0
MOST_DEVICES = 1000
"""Devices of one request that registers."""

LARGEST_METADATA = 16_384
_REFERENCES = ("suite", "standard", "parser", "policy")
"""Fields that may name code: over HTTP they may not."""

_WINDOW = ("devices", "where", "since", "until", "limit", "cursor")


class Calls:
    """Answers the calls to one installation."""

    def __init__(
        self, folder: IngestFolder, limits: ServingLimits, tenants: TenantLimits, turns: QueryTurns
    ) -> None:
        self._folder, self._limits, self._tenants, self._turns = folder, limits, tenants, turns
        self._keys = KeyStore(folder.keys)
        self._reader = MeasurementReader(folder, limits.query_s)

    async def devices(self, request: Request) -> Response:
        """The ids of a group of devices."""
        selection, parameters, limit = self._asked(request, ("devices", "limit", "cursor"))
        (after,) = read_place(parameters, 1) or ("",)
        found = await self._turns.call(
            selection.tenant, lambda: self._reader.devices(selection, after, limit)
        )
        return answer({"devices": found, "cursor": write_place(found[-1]) if len(found) == limit else None})

    async def metadata(self, request: Request) -> Response:
        """The metadata of a group of devices."""
        selection, parameters, limit = self._asked(request, ("devices", "limit", "cursor"))
        (after,) = read_place(parameters, 1) or ("",)
        found = await self._turns.call(
            selection.tenant, lambda: self._reader.metadata(selection, after, limit)
        )
        fitting: dict[str, dict[str, str]] = {}
        size = 0
        for device, metadata in found.items():
            size += sum(len(name) + len(value) for name, value in metadata.items())
            if fitting and size > PAGE_BYTES:
                break
            fitting[device] = metadata
        more = len(fitting) < len(found) or len(found) == limit
        return answer({"metadata": fitting, "cursor": write_place([*fitting][-1]) if more else None})

    async def latest(self, request: Request) -> Response:
        """The latest measurement of each metric of each device of a group."""
        selection, parameters, limit = self._asked(request, _WINDOW)
        after = read_place(parameters, 2)
        found, more = await self._turns.call(
            selection.tenant, lambda: self._reader.latest_page(selection, after, limit)
        )
        rows = plain_rows(found)
        last = write_place(rows[-1]["device"], rows[-1]["metric"]) if more and rows else None
        return answer({"rows": rows, "cursor": last})

    async def range(self, request: Request) -> Response:
        """The measurements of a group of devices, in the order of their time. The cursor of the last page is
        where a subscription goes on."""
        selection, parameters, limit = self._asked(request, _WINDOW)

        def read() -> dict[str, Any]:
            cursor = (
                QueryCursor.parse(parameters["cursor"]) if "cursor" in parameters else self._reader.begin()
            )
            if "cursor" in parameters:
                self._reader.check(cursor)
            page = self._reader.page(selection, cursor, limit)
            return {
                "rows": plain_rows(page.rows),
                "cursor": str(page.cursor),
                "more": page.cursor.in_snapshot or self._reader.has_more(page.cursor),
            }

        return answer(await self._turns.call(selection.tenant, read))

    async def register(self, request: Request) -> Response:
        """Add devices of the tenant, or change them, all or none."""
        grant = granted(request, self._keys, "register")
        self._tenants.call(grant.tenant)
        parameters_of(request, ())
        try:
            content = msgspec.json.decode(await self._body(request))
        except (ValueError, RecursionError):
            raise InvalidCall("body: is no JSON: expected a device, or a list of them") from None
        given = content if isinstance(content, list) else [content]
        if not 1 <= len(given) <= MOST_DEVICES:
            raise InvalidCall(f"body: has {len(given)} devices: expected 1 to {MOST_DEVICES}")
        devices = [_device_of(each, grant.tenant) for each in given]
        added, changed = await self._turns.call(grant.tenant, lambda: self._put(devices, grant.tenant))
        return answer({"registered": added, "changed": changed})

    # -- what they share ----------------------------------------------------------------------------------

    def _asked(self, request: Request, known: tuple[str, ...]) -> tuple[Selection, dict[str, str], int]:
        grant = granted(request, self._keys, "query")
        self._tenants.call(grant.tenant)
        parameters = parameters_of(request, known)
        return selection_of(parameters, grant.tenant), parameters, limit_of(parameters, self._limits.rows)

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                async for part in request.stream():
                    body += part
                    if len(body) > self._limits.request_bytes:
                        most = self._limits.request_bytes
                        raise RequestTooLarge(f"body of {len(body)} bytes or more: expected {most} at most")
        except TimeoutError:
            raise InvalidCall(f"body: took over {BODY_S:g} s: expected it sooner") from None
        except ClientDisconnect:
            raise InvalidCall("body: ended early: expected all of it") from None
        return bytes(body)

    def _put(self, devices: list[Device], tenant: str) -> tuple[int, int]:
        with DeviceRegistry(self._folder.registry) as registry:
            known = list(registry.records(tenant))
            if len({record.id for record in known} | {device.id for device in devices}) > (
                self._limits.devices_per_tenant
            ):
                raise DeviceConflict(
                    f"tenant: would have over {self._limits.devices_per_tenant} devices: expected no more"
                )
            owned = {name for record in known for name in _key_names(record)}
            regions = {tenant, *(record.region for record in known)}
            for device in devices:
                for name in _key_names(device.record()):
                    if name not in owned:
                        raise InvalidDevice(
                            f"device {shown(device.id)}: keys {shown(name)}: expected a key set that "
                            "another device of this tenant has"
                        )
                if device.region not in regions:  # its limits would be those of others, too
                    raise InvalidDevice(
                        f"device {shown(device.id)}: region {shown(device.region)}: expected "
                        f"{shown(tenant)}, or one that another device of this tenant has"
                    )
            self._check_policies(known, devices)
            self._check_metadata(known, devices)
            return registry.put(*devices, tenant=tenant)

    def _check_metadata(self, known: list[DeviceRecord], devices: list[Device]) -> None:
        """Refuse more metadata than a tenant may have: a query by metadata reads all of it. Raises
        DeviceConflict."""
        size = {record.id: _metadata_bytes(record.metadata) for record in known}
        size |= {device.id: _metadata_bytes(device.metadata) for device in devices}
        most = self._limits.metadata_per_tenant
        if sum(size.values()) > most:
            raise DeviceConflict(f"tenant: would have over {most} bytes of metadata: expected no more")

    def _check_policies(self, known: list[DeviceRecord], devices: list[Device]) -> None:
        """Refuse more policies with different parameters than a tenant may have: each is a mechanism that all
        tenants share the room of. Raises DeviceConflict."""
        changed = {device.id for device in devices}
        before = {record.policy for record in known}
        there = {record.policy for record in known if record.id not in changed}
        wanted = {str(device.policy) for device in devices if isinstance(device.policy, DevicePolicy)}
        most = self._limits.policies_per_tenant
        if wanted - before and len({each for each in there if each.startswith("{")} | wanted) > most:
            raise DeviceConflict(
                f"tenant: would have over {most} policies with different parameters: expected no more"
            )


def _device_of(fields: Any, tenant: str) -> Device:
    """The device that a request describes, of the tenant of its token and, unless it says otherwise, of the
    data region with that name. Raises InvalidDevice."""
    if not isinstance(fields, dict):
        raise InvalidDevice(f"device {shown(fields)}: expected an object with an id")
    if fields.get("tenant", tenant) != tenant:
        raise InvalidDevice(
            f"device {shown(fields.get('id'))}: tenant {shown(fields['tenant'])}: expected that of the token"
        )
    for name in _REFERENCES:
        for value in _names_in(fields.get(name)):
            if any(each in value for each in ":/.\\"):
                raise InvalidDevice(
                    f"device {shown(fields.get('id'))}: {name} {shown(value)}: expected one that is built in"
                )
    metadata = fields.get("metadata")
    if metadata is not None and len(msgspec.json.encode(metadata)) > LARGEST_METADATA:
        raise InvalidDevice(
            f"device {shown(fields.get('id'))}: metadata: expected {LARGEST_METADATA} bytes at most"
        )
    return make_device({"region": tenant, **fields, "tenant": tenant})


def _names_in(value: Any) -> Iterator[str]:
    """All texts in a field, except the values of a policy's parameters."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from () if key == "set" else _names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_in(inner)


def _metadata_bytes(metadata: dict[str, str]) -> int:
    return sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())


def _key_names(record: DeviceRecord) -> list[str]:
    peer = record.peer
    return [name for name in (record.keys, None if peer is None else peer.keys) if name is not None]

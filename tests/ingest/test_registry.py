"""The registry: every change is a version, and each version that is needed has its snapshot."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.devices.device import Device, InvalidDevice
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.devices.registry import (
    DeviceConflict,
    DeviceRegistry,
    UnknownDevice,
    UnknownRegistryVersion,
)
from bypass.ingest.devices.snapshot import InvalidSnapshot, RegistrySnapshot, snapshot_file, write_snapshot


def test_a_device_can_be_registered_changed_found_and_removed(tmp_path: Path) -> None:
    with DeviceRegistry(tmp_path / "registry.db") as registry:
        assert registry.version == 0
        assert registry.register(Device(id="app:pump", tenant="north", metadata={"model": "P1"})) == 1
        assert registry.find("app:pump") == Device(id="app:pump", tenant="north", metadata={"model": "P1"})
        assert registry.update("app:pump", {"policy": "batch", "metadata": {"model": "P2"}}) == 2
        assert registry.metadata("app:pump") == {"model": "P2"}
        found = registry.find("app:pump")
        assert found is not None
        assert (found.policy, found.tenant) == ("batch", "north")
        assert registry.remove("app:pump") == 3
        assert registry.find("app:pump") is None
        assert len(registry) == 0
    with DeviceRegistry(tmp_path / "registry.db") as registry:
        assert registry.version == 3


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    with DeviceRegistry(tmp_path / "registry.db") as registry:
        registry.register(Device(id="a"))
        with pytest.raises(DeviceConflict, match="device 'a': is registered: expected a new id"):
            registry.register(Device(id="b"), Device(id="a"))
        with pytest.raises(InvalidDevice, match="device 'a': qos is 3: expected 0, 1 or 2"):
            registry.update("a", {"qos": 3})
        with pytest.raises(UnknownDevice, match="device 'b': is not registered"):
            registry.update("b", {})
        with pytest.raises(UnknownDevice):
            registry.remove("b")
        with pytest.raises(UnknownDevice):
            registry.metadata("b")
        assert registry.version == 1
        assert [each.id for each in registry.devices()] == ["a"]


def test_devices_are_selected_by_what_they_are(tmp_path: Path) -> None:
    with DeviceRegistry(tmp_path / "registry.db") as registry:
        registry.register(
            Device(id="a", tenant="north", metadata={'mo"del': "P1", "version": "2"}),
            Device(id="b", tenant="north", metadata={'mo"del': "P1"}),
            Device(id="c", tenant="south", application="water", metadata={'mo"del': "P1", "version": "2"}),
        )
        assert [each.id for each in registry.devices(tenant="north")] == ["a", "b"]
        assert [each.id for each in registry.devices(metadata={'mo"del': "P1", "version": "2"})] == ["a", "c"]
        assert [each.id for each in registry.devices(tenant="north", metadata={"version": "2"})] == ["a"]
        assert [each.id for each in registry.devices(application="water")] == ["c"]


changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(("register", "update", "remove"))), max_size=12
)


@settings(max_examples=20)  # each waits for the disk
@given(changes)
def test_each_version_has_a_snapshot_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("registry")
    present: dict[str, str] = {}
    expected = [dict(present)]
    with DeviceRegistry(folder / "registry.db") as registry:
        for id_, change in changes:
            tenant = f"t{registry.version}"
            if change == "register" and id_ not in present:
                registry.register(Device(id=id_, tenant=tenant))
                present[id_] = tenant
            elif change == "update" and id_ in present:
                registry.update(id_, {"tenant": tenant})
                present[id_] = tenant
            elif change == "remove" and id_ in present:
                registry.remove(id_)
                del present[id_]
            else:
                continue
            expected.append(dict(present))
        assert registry.version == len(expected) - 1
        middle = len(expected) // 2
        registry.forget(middle)
        for version, devices in list(enumerate(expected))[middle:]:
            snapshot = RegistrySnapshot.load(registry.snapshot(folder / "snapshots", version))
            assert snapshot.version == version
            assert {id_: record.tenant for id_ in snapshot if (record := snapshot.find(id_))} == devices
        for version in (middle - 1, len(expected)):
            with pytest.raises(UnknownRegistryVersion, match=f"version {version} of the registry: expected"):
                registry.snapshot(folder / "snapshots", version)


def test_a_record_has_all_that_a_device_has() -> None:
    assert set(DeviceRecord.__struct_fields__) == set(Device.model_fields)
    peer = {"kind": "jwt", "keys": "issuer", "operations": ("publish", "read")}
    device = Device.model_validate(
        {"id": "a", "peer": peer, "parser_schema": {"names": {"t": {"metric": "temperature"}}}}
    )
    assert Device.of_record(device.record()) == device


def test_a_snapshot_is_written_once_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, 7, [Device(id="a").record()])
    assert path == snapshot_file(tmp_path, 7)
    write_snapshot(tmp_path, 7, [])
    snapshot = RegistrySnapshot.load(path)
    assert (len(snapshot), snapshot.version) == (1, 7)
    assert snapshot.find("a") == Device(id="a").record()
    assert snapshot.find("b") is None
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InvalidSnapshot, match="expected a snapshot of devices"):
        RegistrySnapshot.load(path)


def test_many_devices_are_loaded_in_well_under_a_second(tmp_path: Path) -> None:
    record = Device(id="x", metadata={"model": "P1"}, keys="fleet", suite="NULL_HMAC-SHA256").record()
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    devices = (DeviceRecord(**{**fields, "id": f"fleet:{number}"}) for number in range(100_000))
    path = write_snapshot(tmp_path, 1, devices)
    began = process_time()
    snapshot = RegistrySnapshot.load(path)
    assert process_time() - began < 0.5
    found = snapshot.find("fleet:99999")
    assert found is not None
    assert found.id == "fleet:99999"


def test_readers_open_it_while_somebody_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bypass.ingest.devices.registry._PATIENCE", 0.01)
    with DeviceRegistry(tmp_path / "registry.db") as writer:
        writer.register(Device(id="device0"))
        with writer._transaction(), DeviceRegistry(tmp_path / "registry.db") as reader:
            assert reader.version == 1

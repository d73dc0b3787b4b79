"""The check of the registry: unknown devices are refused, and known ones have a chain each."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.devices.snapshot import RegistrySnapshot, write_snapshot
from bypass.ingest.rejection import Rejected
from bypass.ingest.sealing import Sealer
from bypass.ingest.security.suite import find_suite
from bypass.ingest.stages.chains import Chains
from tests.ingest.senders import FIGURE, MEASURED, NOW, Sender, token


def test_a_change_of_the_registry_counts_with_the_next_version(tmp_path: Path) -> None:
    suite = "AES256-CBC_HMAC-SHA512"
    keys = KeyStore(tmp_path / "keys")
    material = keys.generate("pumps", find_suite(suite).roles)
    sealed = Sealer(suite=suite, keys=material).seal(FIGURE)
    with DeviceRegistry(tmp_path / "registry.db") as registry:
        registry.register(
            Device(id="device1", suite=suite, keys="pumps"), Device(id="device2", suite=suite, keys="none")
        )
        first = Chains(RegistrySnapshot.load(registry.snapshot(tmp_path / "snapshots")), keys)
        registry.remove("device1")
        second = Chains(RegistrySnapshot.load(registry.snapshot(tmp_path / "snapshots")), keys)
    assert first.find("device1")(sealed, NOW).measurements == MEASURED
    assert first.find("device1") is first.find("device1")
    for _ in range(2):
        with pytest.raises(Rejected, match="registry: unknown device: 'device1'"):
            second.find("device1")
        with pytest.raises(
            Rejected, match=r"registry: unusable configuration: device2: .* expected a key set"
        ):
            second.find("device2")


def test_devices_that_are_configured_alike_share_a_chain_unless_a_token_names_them(tmp_path: Path) -> None:
    plain = Sender().device.record()
    named = Sender(proof="EdDSA", token=token("EdDSA"))
    devices = [replace(plain, id=name, metadata={"name": name}) for name in ("device1", "a", "b")]
    devices += [replace(plain, id="c", tenant="another")]
    devices += [replace(named.device.record(), id=name) for name in ("d", "e")]
    chains = Chains(RegistrySnapshot.load(write_snapshot(tmp_path, 1, devices)), named.keys)
    assert chains.find("device1") is chains.find("a") is chains.find("b")
    assert chains.find("c").device.tenant == "another"
    assert chains.find("d") is chains.find("d") is not chains.find("e")
    assert chains.find("b")(FIGURE, NOW, "device1").measurements == MEASURED
    with pytest.raises(Rejected, match="parse: another device: 'device1': expected 'b'"):
        chains.find("device1")(FIGURE, NOW, "b")

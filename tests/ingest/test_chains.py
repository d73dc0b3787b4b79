"""The check of the registry: unknown devices are refused, and known ones have a chain each."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.devices.snapshot import RegistrySnapshot
from bypass.ingest.rejection import Rejected
from bypass.ingest.sealing import Sealer
from bypass.ingest.security.suite import find_suite
from bypass.ingest.stages.chains import Chains
from tests.ingest.senders import FIGURE, MEASURED, NOW


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

"""The chains of all devices of one version of the registry: its check is the first stage."""

from __future__ import annotations

from bypass.errors import shown
from bypass.ingest.devices.snapshot import RegistrySnapshot
from bypass.ingest.rejection import Rejected
from bypass.ingest.stages.chain import Keys, StageChain


class Chains:
    """Finds the chain of a device, compiled when its first message comes."""

    def __init__(self, snapshot: RegistrySnapshot, keys: Keys) -> None:
        self._snapshot = snapshot
        self._keys = keys
        self._compiled: dict[str, StageChain | Rejected] = {}

    def find(self, device: str) -> StageChain:
        """Give the chain of a device. Raises Rejected with the stage "registry" if it is unknown, or if its
        configuration cannot be used."""
        chain = self._compiled.get(device)
        if chain is None:
            chain = self._compile(device)
        if isinstance(chain, Rejected):
            raise Rejected(*chain.args)  # one that was raised holds the frames that it has passed
        return chain

    def _compile(self, device: str) -> StageChain | Rejected:
        record = self._snapshot.find(device)
        if record is None:  # not kept: anybody can think of ids
            return Rejected("registry", "unknown device", shown(device))
        try:
            compiled: StageChain | Rejected = StageChain(record, self._keys)
        except Rejected as rejected:
            compiled = Rejected(*rejected.args)
        self._compiled[device] = compiled
        return compiled

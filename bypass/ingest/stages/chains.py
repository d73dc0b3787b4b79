"""The chains of all devices of one version of the registry: its check is the first stage."""

from __future__ import annotations

from bypass.errors import shown
from bypass.ingest.devices.snapshot import RegistrySnapshot
from bypass.ingest.rejection import Rejected
from bypass.ingest.stages.chain import Keys, StageChain


class Chains:
    """Finds the chain of a device, compiled when the first message comes of one that is configured so."""

    def __init__(self, snapshot: RegistrySnapshot, keys: Keys) -> None:
        self._snapshot = snapshot
        self._keys = keys
        self._shared: dict[int | None, StageChain] = {}  # by the number of a configuration
        self._own: dict[str, StageChain | Rejected] = {}

    def find(self, device: str) -> StageChain:
        """Give the chain of a device. Raises Rejected with the stage "registry" if it is unknown, or if its
        configuration cannot be used."""
        found = self._shared.get(self._snapshot.number(device))
        if found is not None:
            return found
        chain = self._own.get(device) or self._compile(device)
        if isinstance(chain, Rejected):
            raise Rejected(*chain.args)  # one that was raised holds the frames that it has passed
        return chain

    def _compile(self, device: str) -> StageChain | Rejected:
        record = self._snapshot.find(device)
        if record is None:  # not kept: anybody can think of ids
            return Rejected("registry", "unknown device", shown(device))
        try:
            compiled = StageChain(record, self._keys)
        except Rejected as rejected:
            self._own[device] = refused = Rejected(*rejected.args)
            return refused
        if compiled.is_shared:
            self._shared[self._snapshot.number(device)] = compiled
        else:
            self._own[device] = compiled
        return compiled

"""The base of workloads of a store that a scenario names: operations of nodes on objects, and their times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from pydantic import BaseModel, ConfigDict

from bypass.models.storage.operations import StorageOperations


class StorageWorkload(BaseModel, ABC):
    """A workload: nodes publish objects, ask for them and delete them. Fields of a class are its parameters
    in a scenario."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    @abstractmethod
    def length(self) -> float:
        """The seconds that it takes: no operation comes later."""

    @abstractmethod
    def draw(self, nodes: int, seed: int) -> StorageOperations:
        """The operations of so many nodes. Same seed, same operations."""

    @abstractmethod
    def stretched(self, factor: float) -> Self:
        """The workload with times so many times as long, and the same rates."""

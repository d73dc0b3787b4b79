"""Models of stores of objects: costs of their designs, a planner, energy, and workloads."""

from bypass.models.storage.energy import TABLET, DeviceEnergy
from bypass.models.storage.over_used_cell import OverUsedCell
from bypass.models.storage.phone_energy import PHONE, PHONE_AIDED
from bypass.models.storage.university import UniversityTrace
from bypass.models.storage.workload import StorageWorkload

STORAGE_WORKLOADS: dict[str, type[StorageWorkload]] = {
    "university": UniversityTrace,
    "over-used-cell": OverUsedCell,
}
DEVICES: dict[str, DeviceEnergy] = {"tablet": TABLET, "phone": PHONE, "aided-phone": PHONE_AIDED}
"""The kinds of devices whose energy is known, by name."""

__all__ = [
    "DEVICES",
    "STORAGE_WORKLOADS",
    "DeviceEnergy",
    "OverUsedCell",
    "StorageWorkload",
    "UniversityTrace",
]

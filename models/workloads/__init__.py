"""Workloads by name."""

from bypass.models.workloads.ar import AR
from bypass.models.workloads.lbs import LBS
from bypass.models.workloads.rnd import RND
from bypass.models.workloads.workload import Publications, Rhythm, Workload, World

WORKLOADS: dict[str, type[Workload]] = {"ar": AR, "lbs": LBS, "rnd": RND}

__all__ = ["AR", "LBS", "RND", "WORKLOADS", "Publications", "Rhythm", "Workload", "World"]

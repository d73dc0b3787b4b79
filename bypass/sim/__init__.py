"""The simulator: virtual time, simulated networks, and the hosts that brokers and clients run on."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.sim.system import SimulatedSystem
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "SimulatedSystem": "bypass.sim.system",
        },
    )

__all__ = ["SimulatedSystem"]

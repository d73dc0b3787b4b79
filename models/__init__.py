"""Models of the simulated world: movement, maps, workloads, churn, radio, queueing, and traces on disk."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.models.compute.engines import LocalEngine, SparkEngine, WorkerLost, spark_engine
    from bypass.models.compute.spark_session import SparkUnavailable
    from bypass.models.maps.street_map import InvalidMap
    from bypass.models.traces import Trace, lay_out, write_trace
    from bypass.models.traces.errors import InvalidTrace
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "InvalidMap": "bypass.models.maps.street_map",
            "InvalidTrace": "bypass.models.traces.errors",
            "LocalEngine": "bypass.models.compute.engines",
            "SparkEngine": "bypass.models.compute.engines",
            "SparkUnavailable": "bypass.models.compute.spark_session",
            "Trace": "bypass.models.traces",
            "WorkerLost": "bypass.models.compute.engines",
            "lay_out": "bypass.models.traces",
            "spark_engine": "bypass.models.compute.engines",
            "write_trace": "bypass.models.traces",
        },
    )

__all__ = [
    "InvalidMap",
    "InvalidTrace",
    "LocalEngine",
    "SparkEngine",
    "SparkUnavailable",
    "Trace",
    "WorkerLost",
    "lay_out",
    "spark_engine",
    "write_trace",
]

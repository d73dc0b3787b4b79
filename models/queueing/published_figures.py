"""Published figures to compare with: Bouloukakis, Georgantas, Kattepur and Issarny, ICPE 2017, slides.

Their table of end-to-end response times has ON and OFF periods, and figures by simulation and by analysis. It
has no rates and no service times. Those here are ours: 1/16 s for every service, and a rate for each kind of
disconnection that was chosen afterwards, so that the analysis comes close. They are fits, not the authors'.
"""

from __future__ import annotations

from dataclasses import dataclass

from bypass.models.queueing.centre import Centre
from bypass.models.queueing.path import ALWAYS, MeanPeriods, compose

SERVICE = 1 / 16
BROKERS = 2
"""Intermediate brokers before the home broker: the number of the slides."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One line of the table: periods and the authors' `simulated` and `analytical` response in seconds.

    `deviation` is theirs, in percent of the simulated response; `rate` (1/s) is assumed by us.
    """

    kind: str
    publisher: MeanPeriods
    subscriber: MeanPeriods
    simulated: float
    analytical: float
    deviation: float
    rate: float

    def centres(self) -> tuple[Centre, ...]:
        """The path with the rate and the service time that we assume."""
        return compose(
            self.rate, SERVICE, publisher=self.publisher, subscriber=self.subscriber, brokers=BROKERS
        )


MINUTE = 60.0

ROWS = (
    PublishedRow("metro", (109.0, 121.5), (146.3, 96.0), 118.7, 116.76, 1.63, rate=1.0),
    PublishedRow("metro", (292.1, 78.7), (155.8, 72.1), 45.3, 43.7, 3.53, rate=1.0),
    PublishedRow("voluntary", (60.0, 600.0), (30.0, 900.0), 27.82 * MINUTE, 28.31 * MINUTE, 1.76, rate=0.1),
    PublishedRow("voluntary", ALWAYS, (30.0, 900.0), 17.61 * MINUTE, 18.03 * MINUTE, 2.38, rate=0.1),
    PublishedRow("degraded", (1.0, 1.0), (1.5, 1.5), 2.41, 2.26, 6.22, rate=2.0),
)

"""The parameters of a radio that devices nearby share: how far it reaches, how fast it is, how it takes
turns.

Powers are whole numbers in units of the weakest one that counts (that at `interference` metres, over
`UNIT`): sums of whole numbers do not depend on their order, so two media that hear the same agree exactly.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

# compiled into kernels
UNIT = 1 << 20  # the power of a sender at the interference range
STRONGEST = 1 << 52  # 2,000 senders at one place add up to less than a whole number can hold
NEAREST_M = 1.0  # nobody is nearer to an antenna than this
RTS_BYTES = 20
ANSWER_BYTES = 14  # of a CTS or an ACK


class FrameKind(IntEnum):
    """The kinds of transmissions: a frame of the user, or one of the small frames that a unicast needs."""

    DATA = 0
    RTS = 1
    CTS = 2
    ACK = 3


class RadioModel(BaseModel):
    """An 802.11 radio in ad hoc mode, OFDM at 20 MHz; other radios by other numbers.

    A frame is received if its power is at least that at `reach` metres and, as long as it is on the air, at
    least `sinr_db` above noise and all other power together, and if its receiver is silent meanwhile. Who is
    farther away than `interference` metres is not heard at all, and the medium counts as busy where at least
    the power of a sender there is in the air. Noise is as strong as that, or weaker where a frame from
    `reach` metres would not stand out otherwise: without other senders, `reach` is how far frames get.
    Walls of buildings on the straight way take `wall_db` each, so that frames get less far; 0 is without
    buildings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    reach: float = Field(default=88.0, gt=NEAREST_M, description="metres at which a frame is just received")
    interference: float = Field(default=205.0, gt=NEAREST_M, description="metres up to which power counts")
    exponent: float = Field(default=3.8, ge=2, le=6, description="of the loss of power by distance")
    wall_db: float = Field(default=0.0, ge=0, le=100, description="loss by each wall on the way (dB)")
    sinr_db: float = Field(default=10.0, ge=0, description="how far a frame must stand out (dB)")
    carrier_sense: bool = Field(default=True, description="listen before sending")
    broadcast_rate: float = Field(default=6.0, gt=0, description="Mbit/s of frames to everybody")
    unicast_rate: float = Field(default=24.0, gt=0, description="Mbit/s of frames to one device")
    rts: bool = Field(default=True, description="ask for silence before a frame to one device")
    retries: int = Field(default=7, ge=0, le=100, description="of a frame to one device")
    slot_us: int = Field(default=9, ge=1)
    sifs_us: int = Field(default=16, ge=1)
    cw_min: int = Field(default=15, ge=0, description="a station waits up to so many slots")
    cw_max: int = Field(default=1023, ge=0, description="... and up to so many after failures")
    sense_us: int = Field(default=4, ge=0, description="what begins so recently is not noticed yet")
    preamble_us: int = Field(default=20, ge=0)
    symbol_us: int = Field(default=4, ge=1, description="frames last whole symbols")
    service_bits: int = Field(default=22, ge=0, description="bits that the physical layer adds")
    header: int = Field(default=64, ge=0, description="bytes that lower layers add to a frame")
    queue: int = Field(default=100, ge=1, description="frames that wait at a station")
    refresh_ms: int = Field(default=100, ge=1, description="how often positions are looked at")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.interference < self.reach:
            raise ValueError(f"interference {self.interference}: expected at least the reach, {self.reach}")
        if self.cw_max < self.cw_min:
            raise ValueError(f"cw_max {self.cw_max}: expected at least cw_min, {self.cw_min}")
        if self.power(NEAREST_M) > STRONGEST:
            raise ValueError(f"exponent {self.exponent}: expected less, at {self.interference} m")
        if self.control_us(FrameKind.RTS) >= 1000 * self.refresh_ms:
            raise ValueError(f"broadcast_rate {self.broadcast_rate}: expected more, or a longer refresh_ms")
        return self

    @property
    def difs_us(self) -> int:
        """How long the medium must be idle before a station counts slots."""
        return self.sifs_us + 2 * self.slot_us

    @property
    def sensitivity(self) -> int:
        """The least power with which a frame can be received."""
        return self.power(self.reach)

    @property
    def noise(self) -> int:
        """The power that is always there: a frame of `sensitivity` stands out from it."""
        noise = min(UNIT, int(self.sensitivity / self.sinr))
        return noise if self.sinr * noise <= self.sensitivity else noise - 1  # the division may round up

    @property
    def sinr(self) -> float:
        """`sinr_db` as a factor, at least 1: of two frames at a time at most one stands out."""
        return float(10.0 ** (self.sinr_db / 10.0))

    @property
    def passed(self) -> float:
        """The share of power that a wall lets through."""
        return float(10.0 ** (-self.wall_db / 10.0))

    def power(self, distance: float) -> int:
        """With what power a sender is heard at a distance (m); 0 beyond the interference range."""
        if distance > self.interference:
            return 0
        return int(UNIT * (self.interference / max(distance, NEAREST_M)) ** self.exponent)

    def duration_us(self, size: int, rate: float) -> int:
        """How long a frame of `size` bytes, headers included, is on the air at `rate` Mbit/s."""
        symbols = math.ceil((self.service_bits + 8 * size) / (rate * self.symbol_us))
        return self.preamble_us + self.symbol_us * symbols

    def control_us(self, part: FrameKind) -> int:
        """How long an RTS, CTS or ACK is on the air, at the rate of broadcasts."""
        return self.duration_us(RTS_BYTES if part is FrameKind.RTS else ANSWER_BYTES, self.broadcast_rate)


class BluetoothModel(RadioModel):
    """Low-energy advertising: shorter reach, 1 Mbit/s, a random delay of up to 10 ms instead of listening."""

    reach: float = Field(default=20.0, gt=NEAREST_M)
    interference: float = Field(default=40.0, gt=NEAREST_M)
    carrier_sense: bool = False
    broadcast_rate: float = Field(default=1.0, gt=0)
    unicast_rate: float = Field(default=1.0, gt=0)
    rts: bool = False
    slot_us: int = Field(default=625, ge=1)
    sifs_us: int = Field(default=150, ge=1)
    preamble_us: int = Field(default=40, ge=0)
    symbol_us: int = Field(default=1, ge=1)
    service_bits: int = Field(default=0, ge=0)
    header: int = Field(default=37, ge=0)


WIFI = RadioModel()
BLUETOOTH = BluetoothModel()


class Ending(NamedTuple):
    """A frame's time on the air is over: who received it. A frame to one device ends when that receives it,
    or, with nobody in `receivers`, when its sender gives up."""

    at_us: int
    frame: int
    sender: int
    receivers: tuple[int, ...]

"""The state of a radio medium in arrays, as its kernels work on it: what each row and column holds."""

from __future__ import annotations

from enum import IntEnum, auto

# compiled into kernels
NEVER = 1 << 62
NOBODY = -1


class Due(IntEnum):
    """The kinds of due actions, in the order in which they are done within one microsecond."""

    END = 0
    NAV = auto()
    TIMEOUT = auto()
    RELEASE = auto()
    RESPONSE = auto()
    START = auto()


class Doing(IntEnum):
    """The states of a station that takes part in an exchange."""

    NOTHING = 0
    AWAITING_CTS = auto()
    AWAITING_ACK = auto()
    RESPONDING = auto()


class S(IntEnum):
    """Columns of a station; those first that each transmission touches at all who hear it."""

    POWER = 0  # of all others that send, added up
    HEARS = auto()  # the station whose transmission it receives, or NOBODY
    HEARD_POWER = auto()
    ENDS = auto()  # when its own transmission ends; NEVER if it does not send
    BUSY = auto()
    ON = auto()
    NAV = auto()  # until when others have asked for silence
    START_AT = auto()
    COUNT_FROM = auto()  # when counting slots begins, while the medium is idle
    BACKOFF = auto()  # slots left
    DOING = auto()
    WAITING = auto()
    ENTRY_AT = auto()  # when the heap's entry for its start is due
    PART = auto()  # what it sends
    FRAME = auto()  # the frame which that is about
    TO = auto()  # and whom it is for; NOBODY: everybody
    BUFFER = auto()  # the snapshot of neighbours that the transmission goes by
    WINDOW = auto()
    TRIES = auto()
    DRAWS = auto()
    TIMEOUT_AT = auto()
    RESPONSE_PART = auto()
    RESPONSE_AT = auto()
    LENGTH = auto()  # how long the frame of the exchange that it takes part in is on the air
    HEAD = auto()
    TAIL = auto()
    SENT = auto()
    DROPPED = auto()
    FAILED = auto()
    BYTES_UP = auto()
    BYTES_DOWN = auto()
    CALLED_OFF = auto()
    STRANGE = auto()  # frames of mechanisms that do not listen here
    RETRIED = auto()  # exchanges that were tried again
    HANDSHAKE_BYTES = auto()  # of RTS, CTS and ACK that it has sent
    DATAGRAMS_HEARD = auto()  # frames with datagrams that it received
    OWN_FRAMES = auto()  # with datagrams that come from here, each time it tried; the bytes are next to it
    OWN_BYTES = auto()
    FORWARDED_FRAMES = auto()  # with datagrams of others
    FORWARDED_BYTES = auto()
    CONTROL_FRAMES = auto()  # with what routing says to routing
    CONTROL_BYTES = auto()


class F(IntEnum):
    """Columns of a frame."""

    SENDER = 0
    TARGET = auto()
    DURATION = auto()
    SIZE = auto()
    NEXT = auto()  # in its station's queue, or in the list of free ones
    NUMBER = auto()
    DELIVERED = auto()
    KIND = auto()
    PORT = auto()
    FLAG = auto()
    COUNTER = auto()
    SCOPE = auto()
    KEYS = auto()  # how many events are in it
    MOST_COPIES = auto()  # called off, when it is due, if so many copies were heard; 0: never
    MOST_NEAR = auto()
    TRAFFIC = auto()  # the column of its station that counts it beside SENT; 0: none


class Q(IntEnum):
    """Columns of a frame that is to be handed over; its events are the last ones."""

    AT = 0
    SENDER = auto()
    TARGET = auto()
    SIZE = auto()
    DURATION = auto()
    KIND = auto()
    PORT = auto()
    MOST_COPIES = auto()
    MOST_NEAR = auto()
    TRAFFIC = auto()
    KEYS = auto()
    EVENTS = auto()  # the first of them


class FrameUse(IntEnum):
    """The uses of a frame. RAW ones are handed on as they are, whichever mechanism listens; those from
    DATAGRAM on, too. Who sends a FRAGMENT is told when it is over, because the next one follows it."""

    RAW = 0
    EVENTS = auto()
    HELLO = auto()
    DIGEST = auto()
    DATAGRAM = auto()
    FRAGMENT = auto()


class G(IntEnum):
    """Fields that the whole medium has once."""

    NOW = 0
    HEAP = auto()
    FREE = auto()  # the first free frame
    NUMBER = auto()  # of the next frame
    SNAPSHOT = auto()  # which one of the positions is in use
    BUFFER = auto()
    NEXT = auto()  # when something is due
    FOUND = auto()  # rows of `found`
    FRAME = auto()  # the frame that they are about
    SENDER = auto()
    FILLED = auto()  # neighbours that the snapshot in use has
    COLUMNS = auto()  # of the cells in which stations are
    ROWS = auto()
    WALLS_COLUMNS = auto()
    WALLS_ROWS = auto()
    LOOKED = auto()  # how often walls were looked for


class R(IntEnum):
    """Real numbers: of the model, and in metres of the cells of stations and of walls."""

    SINR = 0
    INTERFERENCE = auto()
    EXPONENT = auto()
    PASSED = auto()  # the share of power that a wall lets through
    LEFT = auto()
    LOW = auto()
    WIDTH = auto()
    HEIGHT = auto()
    WALLS_X = auto()
    WALLS_Y = auto()
    WALLS_SIDE = auto()


class P(IntEnum):
    """Parameters, in microseconds and units of power."""

    SLOT = 0
    SIFS = auto()
    DIFS = auto()
    SENSE = auto()
    CW_MIN = auto()
    CW_MAX = auto()
    RETRIES = auto()
    QUEUE = auto()
    REFRESH = auto()
    CARRIER = auto()
    RTS = auto()
    RTS_US = auto()
    CTS_US = auto()
    ACK_US = auto()
    SENSITIVITY = auto()
    NOISE = auto()
    SEED = auto()


class L(IntEnum):
    """Columns of a port of a station: what listens there."""

    FLAG = 0  # 0: nothing
    COUNTER = auto()
    SCOPE = auto()
    NEAR_MM = auto()
    NEW_AFTER = auto()


class PortVerdict(IntEnum):
    """The meaning of a row of `found` that is not the place of an event in the frame.

    OVER, GIVEN_UP and NO_ROOM are about the sender of a datagram: their rows name NOBODY.
    """

    FOREIGN = -1
    NEW_NEIGHBOUR = -2
    DIGEST = -3
    RAW = -4
    DATAGRAM = -5
    OVER = -6
    GIVEN_UP = -7
    NO_ROOM = -8

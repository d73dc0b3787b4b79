from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("version", "client", "scheme", "epoch", "riding_context_update", "riding_assignment_request", "riding_assignment", "riding_scheme_context", "publish", "notify", "context_update", "assignment_request", "assignment", "subscribe", "unsubscribe", "plan", "outcome", "frame", "hello", "welcome", "ack", "refused", "ping", "bye", "control", "reply", "kept", "missed", "scheme_context", "address")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RIDING_CONTEXT_UPDATE_FIELD_NUMBER: _ClassVar[int]
    RIDING_ASSIGNMENT_REQUEST_FIELD_NUMBER: _ClassVar[int]
    RIDING_ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    RIDING_SCHEME_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_FIELD_NUMBER: _ClassVar[int]
    NOTIFY_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_UPDATE_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    UNSUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    BYE_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    SCHEME_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    version: int
    client: int
    scheme: int
    epoch: int
    riding_context_update: ContextUpdate
    riding_assignment_request: AssignmentRequest
    riding_assignment: Assignment
    riding_scheme_context: SchemeContext
    publish: Publish
    notify: Notify
    context_update: ContextUpdate
    assignment_request: AssignmentRequest
    assignment: Assignment
    subscribe: Subscribe
    unsubscribe: Unsubscribe
    plan: Plan
    outcome: Outcome
    frame: Frame
    hello: Hello
    welcome: Welcome
    ack: Ack
    refused: Refused
    ping: Ping
    bye: Bye
    control: Control
    reply: Reply
    kept: Kept
    missed: Missed
    scheme_context: SchemeContext
    address: int
    def __init__(self, version: _Optional[int] = ..., client: _Optional[int] = ..., scheme: _Optional[int] = ..., epoch: _Optional[int] = ..., riding_context_update: _Optional[_Union[ContextUpdate, _Mapping]] = ..., riding_assignment_request: _Optional[_Union[AssignmentRequest, _Mapping]] = ..., riding_assignment: _Optional[_Union[Assignment, _Mapping]] = ..., riding_scheme_context: _Optional[_Union[SchemeContext, _Mapping]] = ..., publish: _Optional[_Union[Publish, _Mapping]] = ..., notify: _Optional[_Union[Notify, _Mapping]] = ..., context_update: _Optional[_Union[ContextUpdate, _Mapping]] = ..., assignment_request: _Optional[_Union[AssignmentRequest, _Mapping]] = ..., assignment: _Optional[_Union[Assignment, _Mapping]] = ..., subscribe: _Optional[_Union[Subscribe, _Mapping]] = ..., unsubscribe: _Optional[_Union[Unsubscribe, _Mapping]] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., bye: _Optional[_Union[Bye, _Mapping]] = ..., control: _Optional[_Union[Control, _Mapping]] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., kept: _Optional[_Union[Kept, _Mapping]] = ..., missed: _Optional[_Union[Missed, _Mapping]] = ..., scheme_context: _Optional[_Union[SchemeContext, _Mapping]] = ..., address: _Optional[int] = ...) -> None: ...

class Publish(_message.Message):
    __slots__ = ("id", "at_us", "kind", "x", "y", "channel", "attributes", "payload")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PLAIN: _ClassVar[Publish.Kind]
        LOCAL: _ClassVar[Publish.Kind]
        PLACED: _ClassVar[Publish.Kind]
    PLAIN: Publish.Kind
    LOCAL: Publish.Kind
    PLACED: Publish.Kind
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    id: int
    at_us: int
    kind: Publish.Kind
    x: float
    y: float
    channel: str
    attributes: _containers.RepeatedCompositeFieldContainer[Value]
    payload: bytes
    def __init__(self, id: _Optional[int] = ..., at_us: _Optional[int] = ..., kind: _Optional[_Union[Publish.Kind, str]] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., channel: _Optional[str] = ..., attributes: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., payload: _Optional[bytes] = ...) -> None: ...

class Notify(_message.Message):
    __slots__ = ("publication", "handles", "unfiltered", "publisher", "publisher_scheme", "publisher_epoch", "relay", "targets", "publisher_name")
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    HANDLES_FIELD_NUMBER: _ClassVar[int]
    UNFILTERED_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_SCHEME_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    RELAY_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_NAME_FIELD_NUMBER: _ClassVar[int]
    publication: Publish
    handles: _containers.RepeatedScalarFieldContainer[int]
    unfiltered: bool
    publisher: int
    publisher_scheme: int
    publisher_epoch: int
    relay: bool
    targets: _containers.RepeatedScalarFieldContainer[int]
    publisher_name: str
    def __init__(self, publication: _Optional[_Union[Publish, _Mapping]] = ..., handles: _Optional[_Iterable[int]] = ..., unfiltered: _Optional[bool] = ..., publisher: _Optional[int] = ..., publisher_scheme: _Optional[int] = ..., publisher_epoch: _Optional[int] = ..., relay: _Optional[bool] = ..., targets: _Optional[_Iterable[int]] = ..., publisher_name: _Optional[str] = ...) -> None: ...

class Subscribe(_message.Message):
    __slots__ = ("handle", "filters", "radius")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    handle: int
    filters: _containers.RepeatedCompositeFieldContainer[Filter]
    radius: int
    def __init__(self, handle: _Optional[int] = ..., filters: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., radius: _Optional[int] = ...) -> None: ...

class Unsubscribe(_message.Message):
    __slots__ = ("handle",)
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    handle: int
    def __init__(self, handle: _Optional[int] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("operand", "op", "type", "operands")
    OPERAND_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OPERANDS_FIELD_NUMBER: _ClassVar[int]
    operand: Value
    op: str
    type: str
    operands: _containers.RepeatedCompositeFieldContainer[Filter]
    def __init__(self, operand: _Optional[_Union[Value, _Mapping]] = ..., op: _Optional[str] = ..., type: _Optional[str] = ..., operands: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("name", "integer", "real", "text", "set", "custom", "truth")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    REAL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    name: str
    integer: int
    real: float
    text: str
    set: Set
    custom: Custom
    truth: bool
    def __init__(self, name: _Optional[str] = ..., integer: _Optional[int] = ..., real: _Optional[float] = ..., text: _Optional[str] = ..., set: _Optional[_Union[Set, _Mapping]] = ..., custom: _Optional[_Union[Custom, _Mapping]] = ..., truth: _Optional[bool] = ...) -> None: ...

class Set(_message.Message):
    __slots__ = ("elements",)
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    elements: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, elements: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Custom(_message.Message):
    __slots__ = ("tag", "data")
    TAG_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    tag: str
    data: bytes
    def __init__(self, tag: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class ContextUpdate(_message.Message):
    __slots__ = ("x", "y", "vx", "vy")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    VX_FIELD_NUMBER: _ClassVar[int]
    VY_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    vx: float
    vy: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ..., vx: _Optional[float] = ..., vy: _Optional[float] = ...) -> None: ...

class AssignmentRequest(_message.Message):
    __slots__ = ("x", "y")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("generation", "publish", "channels", "cell", "cover", "circles")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    COVER_FIELD_NUMBER: _ClassVar[int]
    CIRCLES_FIELD_NUMBER: _ClassVar[int]
    generation: int
    publish: str
    channels: _containers.RepeatedScalarFieldContainer[str]
    cell: _containers.RepeatedScalarFieldContainer[float]
    cover: _containers.RepeatedScalarFieldContainer[float]
    circles: _containers.RepeatedCompositeFieldContainer[Circle]
    def __init__(self, generation: _Optional[int] = ..., publish: _Optional[str] = ..., channels: _Optional[_Iterable[str]] = ..., cell: _Optional[_Iterable[float]] = ..., cover: _Optional[_Iterable[float]] = ..., circles: _Optional[_Iterable[_Union[Circle, _Mapping]]] = ...) -> None: ...

class Circle(_message.Message):
    __slots__ = ("channel", "x", "y", "radius")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    x: float
    y: float
    radius: float
    def __init__(self, channel: _Optional[str] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., radius: _Optional[float] = ...) -> None: ...

class SchemeContext(_message.Message):
    __slots__ = ("scheme", "numbers", "reals", "texts")
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    REALS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    scheme: int
    numbers: _containers.RepeatedScalarFieldContainer[int]
    reals: _containers.RepeatedScalarFieldContainer[float]
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, scheme: _Optional[int] = ..., numbers: _Optional[_Iterable[int]] = ..., reals: _Optional[_Iterable[float]] = ..., texts: _Optional[_Iterable[str]] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("port", "scope", "x", "y", "publications", "digest")
    PORT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    PUBLICATIONS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    port: int
    scope: int
    x: float
    y: float
    publications: _containers.RepeatedCompositeFieldContainer[Copy]
    digest: Digest
    def __init__(self, port: _Optional[int] = ..., scope: _Optional[int] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., publications: _Optional[_Iterable[_Union[Copy, _Mapping]]] = ..., digest: _Optional[_Union[Digest, _Mapping]] = ...) -> None: ...

class Copy(_message.Message):
    __slots__ = ("publication", "publisher", "publisher_scheme", "publisher_epoch")
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_SCHEME_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    publication: Publish
    publisher: int
    publisher_scheme: int
    publisher_epoch: int
    def __init__(self, publication: _Optional[_Union[Publish, _Mapping]] = ..., publisher: _Optional[int] = ..., publisher_scheme: _Optional[int] = ..., publisher_epoch: _Optional[int] = ...) -> None: ...

class Digest(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("content",)
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    def __init__(self, content: _Optional[bytes] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("content",)
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    def __init__(self, content: _Optional[bytes] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("name", "life", "handles", "durable", "capabilities", "schemes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    HANDLES_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    SCHEMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    life: int
    handles: _containers.RepeatedScalarFieldContainer[int]
    durable: bool
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    schemes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., life: _Optional[int] = ..., handles: _Optional[_Iterable[int]] = ..., durable: _Optional[bool] = ..., capabilities: _Optional[_Iterable[str]] = ..., schemes: _Optional[_Iterable[str]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("published", "heartbeat", "area", "origin", "kept", "missed", "settings", "capabilities", "kept_parts", "missed_by", "schemes")
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    AREA_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    KEPT_PARTS_FIELD_NUMBER: _ClassVar[int]
    MISSED_BY_FIELD_NUMBER: _ClassVar[int]
    SCHEMES_FIELD_NUMBER: _ClassVar[int]
    published: int
    heartbeat: float
    area: _containers.RepeatedScalarFieldContainer[float]
    origin: _containers.RepeatedScalarFieldContainer[float]
    kept: _containers.RepeatedCompositeFieldContainer[Subscribe]
    missed: int
    settings: bytes
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    kept_parts: int
    missed_by: _containers.RepeatedCompositeFieldContainer[Missed]
    schemes: _containers.RepeatedCompositeFieldContainer[SchemeNumber]
    def __init__(self, published: _Optional[int] = ..., heartbeat: _Optional[float] = ..., area: _Optional[_Iterable[float]] = ..., origin: _Optional[_Iterable[float]] = ..., kept: _Optional[_Iterable[_Union[Subscribe, _Mapping]]] = ..., missed: _Optional[int] = ..., settings: _Optional[bytes] = ..., capabilities: _Optional[_Iterable[str]] = ..., kept_parts: _Optional[int] = ..., missed_by: _Optional[_Iterable[_Union[Missed, _Mapping]]] = ..., schemes: _Optional[_Iterable[_Union[SchemeNumber, _Mapping]]] = ...) -> None: ...

class SchemeNumber(_message.Message):
    __slots__ = ("name", "number")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    name: str
    number: int
    def __init__(self, name: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class Missed(_message.Message):
    __slots__ = ("reason", "count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: str
    count: int
    def __init__(self, reason: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class Kept(_message.Message):
    __slots__ = ("kept",)
    KEPT_FIELD_NUMBER: _ClassVar[int]
    kept: _containers.RepeatedCompositeFieldContainer[Subscribe]
    def __init__(self, kept: _Optional[_Iterable[_Union[Subscribe, _Mapping]]] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("ids", "handles")
    IDS_FIELD_NUMBER: _ClassVar[int]
    HANDLES_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    handles: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., handles: _Optional[_Iterable[int]] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("reason", "id", "handle", "connection", "retry")
    REASON_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    reason: str
    id: int
    handle: int
    connection: bool
    retry: float
    def __init__(self, reason: _Optional[str] = ..., id: _Optional[int] = ..., handle: _Optional[int] = ..., connection: _Optional[bool] = ..., retry: _Optional[float] = ...) -> None: ...

class Ping(_message.Message):
    __slots__ = ("asks",)
    ASKS_FIELD_NUMBER: _ClassVar[int]
    asks: bool
    def __init__(self, asks: _Optional[bool] = ...) -> None: ...

class Bye(_message.Message):
    __slots__ = ("forget",)
    FORGET_FIELD_NUMBER: _ClassVar[int]
    forget: bool
    def __init__(self, forget: _Optional[bool] = ...) -> None: ...

class Control(_message.Message):
    __slots__ = ("request", "command", "content")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    request: int
    command: str
    content: bytes
    def __init__(self, request: _Optional[int] = ..., command: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("request", "ok", "content")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    request: int
    ok: bool
    content: bytes
    def __init__(self, request: _Optional[int] = ..., ok: _Optional[bool] = ..., content: _Optional[bytes] = ...) -> None: ...

class Packet(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, messages: _Optional[_Iterable[bytes]] = ...) -> None: ...

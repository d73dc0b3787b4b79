from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("version", "client", "scheme", "epoch", "riding_context_update", "riding_assignment_request", "riding_assignment", "riding_scheme_context", "publish", "notify", "context_update", "assignment_request", "assignment", "subscribe", "unsubscribe", "plan", "outcome", "frame", "hello", "welcome", "ack", "refused", "ping", "bye", "control", "reply", "kept", "missed", "scheme_context", "datagram", "storage", "border_task", "allow_following", "followed_place", "address")
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
    DATAGRAM_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    BORDER_TASK_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FOLLOWING_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_PLACE_FIELD_NUMBER: _ClassVar[int]
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
    datagram: Datagram
    storage: Storage
    border_task: BorderTask
    allow_following: AllowFollowing
    followed_place: FollowedPlace
    address: int
    def __init__(self, version: _Optional[int] = ..., client: _Optional[int] = ..., scheme: _Optional[int] = ..., epoch: _Optional[int] = ..., riding_context_update: _Optional[_Union[ContextUpdate, _Mapping]] = ..., riding_assignment_request: _Optional[_Union[AssignmentRequest, _Mapping]] = ..., riding_assignment: _Optional[_Union[Assignment, _Mapping]] = ..., riding_scheme_context: _Optional[_Union[SchemeContext, _Mapping]] = ..., publish: _Optional[_Union[Publish, _Mapping]] = ..., notify: _Optional[_Union[Notify, _Mapping]] = ..., context_update: _Optional[_Union[ContextUpdate, _Mapping]] = ..., assignment_request: _Optional[_Union[AssignmentRequest, _Mapping]] = ..., assignment: _Optional[_Union[Assignment, _Mapping]] = ..., subscribe: _Optional[_Union[Subscribe, _Mapping]] = ..., unsubscribe: _Optional[_Union[Unsubscribe, _Mapping]] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., bye: _Optional[_Union[Bye, _Mapping]] = ..., control: _Optional[_Union[Control, _Mapping]] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., kept: _Optional[_Union[Kept, _Mapping]] = ..., missed: _Optional[_Union[Missed, _Mapping]] = ..., scheme_context: _Optional[_Union[SchemeContext, _Mapping]] = ..., datagram: _Optional[_Union[Datagram, _Mapping]] = ..., storage: _Optional[_Union[Storage, _Mapping]] = ..., border_task: _Optional[_Union[BorderTask, _Mapping]] = ..., allow_following: _Optional[_Union[AllowFollowing, _Mapping]] = ..., followed_place: _Optional[_Union[FollowedPlace, _Mapping]] = ..., address: _Optional[int] = ...) -> None: ...

class Publish(_message.Message):
    __slots__ = ("id", "at_us", "kind", "x", "y", "channel", "attributes", "payload", "z", "area", "lifetime_us")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PLAIN: _ClassVar[Publish.Kind]
        LOCAL: _ClassVar[Publish.Kind]
        PLACED: _ClassVar[Publish.Kind]
        BORDER: _ClassVar[Publish.Kind]
    PLAIN: Publish.Kind
    LOCAL: Publish.Kind
    PLACED: Publish.Kind
    BORDER: Publish.Kind
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    Z_FIELD_NUMBER: _ClassVar[int]
    AREA_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_US_FIELD_NUMBER: _ClassVar[int]
    id: int
    at_us: int
    kind: Publish.Kind
    x: float
    y: float
    channel: str
    attributes: _containers.RepeatedCompositeFieldContainer[Value]
    payload: bytes
    z: float
    area: Area
    lifetime_us: int
    def __init__(self, id: _Optional[int] = ..., at_us: _Optional[int] = ..., kind: _Optional[_Union[Publish.Kind, str]] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., channel: _Optional[str] = ..., attributes: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., payload: _Optional[bytes] = ..., z: _Optional[float] = ..., area: _Optional[_Union[Area, _Mapping]] = ..., lifetime_us: _Optional[int] = ...) -> None: ...

class Area(_message.Message):
    __slots__ = ("shape", "numbers", "rings", "polygons", "place", "lowest", "highest")
    class Shape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NAMED: _ClassVar[Area.Shape]
        CIRCLE: _ClassVar[Area.Shape]
        BOX: _ClassVar[Area.Shape]
        POLYGONS: _ClassVar[Area.Shape]
        CORRIDOR: _ClassVar[Area.Shape]
        SECTOR: _ClassVar[Area.Shape]
    NAMED: Area.Shape
    CIRCLE: Area.Shape
    BOX: Area.Shape
    POLYGONS: Area.Shape
    CORRIDOR: Area.Shape
    SECTOR: Area.Shape
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    RINGS_FIELD_NUMBER: _ClassVar[int]
    POLYGONS_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    shape: Area.Shape
    numbers: _containers.RepeatedScalarFieldContainer[int]
    rings: _containers.RepeatedScalarFieldContainer[int]
    polygons: _containers.RepeatedScalarFieldContainer[int]
    place: str
    lowest: int
    highest: int
    def __init__(self, shape: _Optional[_Union[Area.Shape, str]] = ..., numbers: _Optional[_Iterable[int]] = ..., rings: _Optional[_Iterable[int]] = ..., polygons: _Optional[_Iterable[int]] = ..., place: _Optional[str] = ..., lowest: _Optional[int] = ..., highest: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("handle", "filters", "radius", "interest", "expires", "until", "watch")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    INTEREST_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    handle: int
    filters: _containers.RepeatedCompositeFieldContainer[Filter]
    radius: int
    interest: AreaOfInterest
    expires: float
    until: float
    watch: Watch
    def __init__(self, handle: _Optional[int] = ..., filters: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., radius: _Optional[int] = ..., interest: _Optional[_Union[AreaOfInterest, _Mapping]] = ..., expires: _Optional[float] = ..., until: _Optional[float] = ..., watch: _Optional[_Union[Watch, _Mapping]] = ...) -> None: ...

class Watch(_message.Message):
    __slots__ = ("on", "dwell", "debounce", "margin", "initial", "interval", "fences", "every_place", "whom", "everybody", "until")
    ON_FIELD_NUMBER: _ClassVar[int]
    DWELL_FIELD_NUMBER: _ClassVar[int]
    DEBOUNCE_FIELD_NUMBER: _ClassVar[int]
    MARGIN_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    FENCES_FIELD_NUMBER: _ClassVar[int]
    EVERY_PLACE_FIELD_NUMBER: _ClassVar[int]
    WHOM_FIELD_NUMBER: _ClassVar[int]
    EVERYBODY_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    on: _containers.RepeatedScalarFieldContainer[str]
    dwell: float
    debounce: float
    margin: float
    initial: bool
    interval: float
    fences: _containers.RepeatedCompositeFieldContainer[Fence]
    every_place: bool
    whom: _containers.RepeatedScalarFieldContainer[str]
    everybody: bool
    until: float
    def __init__(self, on: _Optional[_Iterable[str]] = ..., dwell: _Optional[float] = ..., debounce: _Optional[float] = ..., margin: _Optional[float] = ..., initial: _Optional[bool] = ..., interval: _Optional[float] = ..., fences: _Optional[_Iterable[_Union[Fence, _Mapping]]] = ..., every_place: _Optional[bool] = ..., whom: _Optional[_Iterable[str]] = ..., everybody: _Optional[bool] = ..., until: _Optional[float] = ...) -> None: ...

class Fence(_message.Message):
    __slots__ = ("name", "area")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AREA_FIELD_NUMBER: _ClassVar[int]
    name: str
    area: Area
    def __init__(self, name: _Optional[str] = ..., area: _Optional[_Union[Area, _Mapping]] = ...) -> None: ...

class AreaOfInterest(_message.Message):
    __slots__ = ("areas", "relative", "around")
    AREAS_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_FIELD_NUMBER: _ClassVar[int]
    AROUND_FIELD_NUMBER: _ClassVar[int]
    areas: _containers.RepeatedCompositeFieldContainer[Area]
    relative: bool
    around: str
    def __init__(self, areas: _Optional[_Iterable[_Union[Area, _Mapping]]] = ..., relative: _Optional[bool] = ..., around: _Optional[str] = ...) -> None: ...

class AllowFollowing(_message.Message):
    __slots__ = ("names", "everybody")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    EVERYBODY_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    everybody: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., everybody: _Optional[bool] = ...) -> None: ...

class FollowedPlace(_message.Message):
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
    __slots__ = ("x", "y", "vx", "vy", "at", "z")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    VX_FIELD_NUMBER: _ClassVar[int]
    VY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    Z_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    vx: float
    vy: float
    at: float
    z: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ..., vx: _Optional[float] = ..., vy: _Optional[float] = ..., at: _Optional[float] = ..., z: _Optional[float] = ...) -> None: ...

class BorderTask(_message.Message):
    __slots__ = ("turn", "computes", "interval", "watches", "start")
    TURN_FIELD_NUMBER: _ClassVar[int]
    COMPUTES_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    turn: int
    computes: bool
    interval: float
    watches: _containers.RepeatedCompositeFieldContainer[WatchedAreas]
    start: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, turn: _Optional[int] = ..., computes: _Optional[bool] = ..., interval: _Optional[float] = ..., watches: _Optional[_Iterable[_Union[WatchedAreas, _Mapping]]] = ..., start: _Optional[_Iterable[float]] = ...) -> None: ...

class WatchedAreas(_message.Message):
    __slots__ = ("number", "terms", "states")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    number: int
    terms: Watch
    states: bytes
    def __init__(self, number: _Optional[int] = ..., terms: _Optional[_Union[Watch, _Mapping]] = ..., states: _Optional[bytes] = ...) -> None: ...

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

class ObjectKey(_message.Message):
    __slots__ = ("owner", "name")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    owner: int
    name: str
    def __init__(self, owner: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("node", "cell")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    node: int
    cell: int
    def __init__(self, node: _Optional[int] = ..., cell: _Optional[int] = ...) -> None: ...

class Metadata(_message.Message):
    __slots__ = ("key", "tags", "published_us", "size", "digest", "commitment", "summary", "x", "y", "attributes", "replicas", "namespace", "source")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_US_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    key: ObjectKey
    tags: _containers.RepeatedScalarFieldContainer[str]
    published_us: int
    size: int
    digest: bytes
    commitment: bytes
    summary: bytes
    x: float
    y: float
    attributes: Attributes
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    namespace: str
    source: int
    def __init__(self, key: _Optional[_Union[ObjectKey, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., published_us: _Optional[int] = ..., size: _Optional[int] = ..., digest: _Optional[bytes] = ..., commitment: _Optional[bytes] = ..., summary: _Optional[bytes] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., attributes: _Optional[_Union[Attributes, _Mapping]] = ..., replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ..., namespace: _Optional[str] = ..., source: _Optional[int] = ...) -> None: ...

class Attributes(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class ObjectQuery(_message.Message):
    __slots__ = ("id", "formula", "start_us", "end_us", "near", "where", "namespace")
    ID_FIELD_NUMBER: _ClassVar[int]
    FORMULA_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    id: int
    formula: str
    start_us: int
    end_us: int
    near: _containers.RepeatedScalarFieldContainer[float]
    where: _containers.RepeatedCompositeFieldContainer[Filter]
    namespace: str
    def __init__(self, id: _Optional[int] = ..., formula: _Optional[str] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ..., near: _Optional[_Iterable[float]] = ..., where: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., namespace: _Optional[str] = ...) -> None: ...

class PageCursor(_message.Message):
    __slots__ = ("published_us", "key")
    PUBLISHED_US_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    published_us: int
    key: ObjectKey
    def __init__(self, published_us: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ...) -> None: ...

class Tombstone(_message.Message):
    __slots__ = ("key", "opening")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPENING_FIELD_NUMBER: _ClassVar[int]
    key: ObjectKey
    opening: bytes
    def __init__(self, key: _Optional[_Union[ObjectKey, _Mapping]] = ..., opening: _Optional[bytes] = ...) -> None: ...

class StoredObject(_message.Message):
    __slots__ = ("metadata", "data")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    metadata: Metadata
    data: bytes
    def __init__(self, metadata: _Optional[_Union[Metadata, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class QueryRecord(_message.Message):
    __slots__ = ("query", "conjunction", "cell", "at_us")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CONJUNCTION_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    query: ObjectQuery
    conjunction: int
    cell: int
    at_us: int
    def __init__(self, query: _Optional[_Union[ObjectQuery, _Mapping]] = ..., conjunction: _Optional[int] = ..., cell: _Optional[int] = ..., at_us: _Optional[int] = ...) -> None: ...

class Storage(_message.Message):
    __slots__ = ("insert", "chunk", "copy_object", "delete", "remove", "ask", "withdraw", "found", "retrieve", "retrieved", "acknowledge", "add_replica", "move_node", "join_request", "node_state", "state_digest", "cell_update", "plan_request", "plan_copy", "counts_request", "node_counts", "cell_hello", "cell_data", "needs", "provision", "edge_notification", "consumed", "storage_change", "download", "downloaded", "relay", "create_world", "world_list", "describe")
    INSERT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    COPY_OBJECT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    RETRIEVE_FIELD_NUMBER: _ClassVar[int]
    RETRIEVED_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    ADD_REPLICA_FIELD_NUMBER: _ClassVar[int]
    MOVE_NODE_FIELD_NUMBER: _ClassVar[int]
    JOIN_REQUEST_FIELD_NUMBER: _ClassVar[int]
    NODE_STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CELL_UPDATE_FIELD_NUMBER: _ClassVar[int]
    PLAN_REQUEST_FIELD_NUMBER: _ClassVar[int]
    PLAN_COPY_FIELD_NUMBER: _ClassVar[int]
    COUNTS_REQUEST_FIELD_NUMBER: _ClassVar[int]
    NODE_COUNTS_FIELD_NUMBER: _ClassVar[int]
    CELL_HELLO_FIELD_NUMBER: _ClassVar[int]
    CELL_DATA_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    PROVISION_FIELD_NUMBER: _ClassVar[int]
    EDGE_NOTIFICATION_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_FIELD_NUMBER: _ClassVar[int]
    STORAGE_CHANGE_FIELD_NUMBER: _ClassVar[int]
    DOWNLOAD_FIELD_NUMBER: _ClassVar[int]
    DOWNLOADED_FIELD_NUMBER: _ClassVar[int]
    RELAY_FIELD_NUMBER: _ClassVar[int]
    CREATE_WORLD_FIELD_NUMBER: _ClassVar[int]
    WORLD_LIST_FIELD_NUMBER: _ClassVar[int]
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    insert: Insert
    chunk: Chunk
    copy_object: CopyObject
    delete: Delete
    remove: Remove
    ask: Ask
    withdraw: Withdraw
    found: FoundObjects
    retrieve: Retrieve
    retrieved: Retrieved
    acknowledge: Acknowledge
    add_replica: AddReplica
    move_node: MoveNode
    join_request: JoinRequest
    node_state: NodeState
    state_digest: StateDigest
    cell_update: CellUpdate
    plan_request: PlanRequest
    plan_copy: PlanCopy
    counts_request: CountsRequest
    node_counts: NodeCounts
    cell_hello: CellHello
    cell_data: CellData
    needs: SubscriptionNeeds
    provision: Provision
    edge_notification: EdgeNotification
    consumed: ItemConsumed
    storage_change: StorageChange
    download: Download
    downloaded: Downloaded
    relay: Relay
    create_world: CreateWorld
    world_list: WorldList
    describe: Describe
    def __init__(self, insert: _Optional[_Union[Insert, _Mapping]] = ..., chunk: _Optional[_Union[Chunk, _Mapping]] = ..., copy_object: _Optional[_Union[CopyObject, _Mapping]] = ..., delete: _Optional[_Union[Delete, _Mapping]] = ..., remove: _Optional[_Union[Remove, _Mapping]] = ..., ask: _Optional[_Union[Ask, _Mapping]] = ..., withdraw: _Optional[_Union[Withdraw, _Mapping]] = ..., found: _Optional[_Union[FoundObjects, _Mapping]] = ..., retrieve: _Optional[_Union[Retrieve, _Mapping]] = ..., retrieved: _Optional[_Union[Retrieved, _Mapping]] = ..., acknowledge: _Optional[_Union[Acknowledge, _Mapping]] = ..., add_replica: _Optional[_Union[AddReplica, _Mapping]] = ..., move_node: _Optional[_Union[MoveNode, _Mapping]] = ..., join_request: _Optional[_Union[JoinRequest, _Mapping]] = ..., node_state: _Optional[_Union[NodeState, _Mapping]] = ..., state_digest: _Optional[_Union[StateDigest, _Mapping]] = ..., cell_update: _Optional[_Union[CellUpdate, _Mapping]] = ..., plan_request: _Optional[_Union[PlanRequest, _Mapping]] = ..., plan_copy: _Optional[_Union[PlanCopy, _Mapping]] = ..., counts_request: _Optional[_Union[CountsRequest, _Mapping]] = ..., node_counts: _Optional[_Union[NodeCounts, _Mapping]] = ..., cell_hello: _Optional[_Union[CellHello, _Mapping]] = ..., cell_data: _Optional[_Union[CellData, _Mapping]] = ..., needs: _Optional[_Union[SubscriptionNeeds, _Mapping]] = ..., provision: _Optional[_Union[Provision, _Mapping]] = ..., edge_notification: _Optional[_Union[EdgeNotification, _Mapping]] = ..., consumed: _Optional[_Union[ItemConsumed, _Mapping]] = ..., storage_change: _Optional[_Union[StorageChange, _Mapping]] = ..., download: _Optional[_Union[Download, _Mapping]] = ..., downloaded: _Optional[_Union[Downloaded, _Mapping]] = ..., relay: _Optional[_Union[Relay, _Mapping]] = ..., create_world: _Optional[_Union[CreateWorld, _Mapping]] = ..., world_list: _Optional[_Union[WorldList, _Mapping]] = ..., describe: _Optional[_Union[Describe, _Mapping]] = ...) -> None: ...

class Insert(_message.Message):
    __slots__ = ("op", "metadata", "data")
    OP_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    op: int
    metadata: Metadata
    data: bytes
    def __init__(self, op: _Optional[int] = ..., metadata: _Optional[_Union[Metadata, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("op", "key", "offset", "data")
    OP_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    op: int
    key: ObjectKey
    offset: int
    data: bytes
    def __init__(self, op: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class CopyObject(_message.Message):
    __slots__ = ("metadata", "data")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    metadata: Metadata
    data: bytes
    def __init__(self, metadata: _Optional[_Union[Metadata, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Delete(_message.Message):
    __slots__ = ("op", "key", "opening", "tags")
    OP_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPENING_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    op: int
    key: ObjectKey
    opening: bytes
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, op: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., opening: _Optional[bytes] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class Remove(_message.Message):
    __slots__ = ("key", "opening")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPENING_FIELD_NUMBER: _ClassVar[int]
    key: ObjectKey
    opening: bytes
    def __init__(self, key: _Optional[_Union[ObjectKey, _Mapping]] = ..., opening: _Optional[bytes] = ...) -> None: ...

class Ask(_message.Message):
    __slots__ = ("op", "query", "conjunction", "cell", "after", "limit", "since_us", "live", "at_us", "arrived")
    OP_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CONJUNCTION_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    ARRIVED_FIELD_NUMBER: _ClassVar[int]
    op: int
    query: ObjectQuery
    conjunction: int
    cell: int
    after: PageCursor
    limit: int
    since_us: int
    live: bool
    at_us: int
    arrived: int
    def __init__(self, op: _Optional[int] = ..., query: _Optional[_Union[ObjectQuery, _Mapping]] = ..., conjunction: _Optional[int] = ..., cell: _Optional[int] = ..., after: _Optional[_Union[PageCursor, _Mapping]] = ..., limit: _Optional[int] = ..., since_us: _Optional[int] = ..., live: _Optional[bool] = ..., at_us: _Optional[int] = ..., arrived: _Optional[int] = ...) -> None: ...

class Withdraw(_message.Message):
    __slots__ = ("op", "query", "tags")
    OP_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    op: int
    query: int
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, op: _Optional[int] = ..., query: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class FoundObjects(_message.Message):
    __slots__ = ("op", "query", "items", "next", "more", "conjunction", "arrived", "held")
    OP_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    CONJUNCTION_FIELD_NUMBER: _ClassVar[int]
    ARRIVED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    op: int
    query: int
    items: _containers.RepeatedCompositeFieldContainer[Metadata]
    next: PageCursor
    more: bool
    conjunction: int
    arrived: int
    held: _containers.RepeatedCompositeFieldContainer[ObjectKey]
    def __init__(self, op: _Optional[int] = ..., query: _Optional[int] = ..., items: _Optional[_Iterable[_Union[Metadata, _Mapping]]] = ..., next: _Optional[_Union[PageCursor, _Mapping]] = ..., more: _Optional[bool] = ..., conjunction: _Optional[int] = ..., arrived: _Optional[int] = ..., held: _Optional[_Iterable[_Union[ObjectKey, _Mapping]]] = ...) -> None: ...

class Retrieve(_message.Message):
    __slots__ = ("op", "key", "offset", "length")
    OP_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    op: int
    key: ObjectKey
    offset: int
    length: int
    def __init__(self, op: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class Retrieved(_message.Message):
    __slots__ = ("op", "key", "data", "offset")
    OP_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    op: int
    key: ObjectKey
    data: bytes
    offset: int
    def __init__(self, op: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...

class Acknowledge(_message.Message):
    __slots__ = ("op", "status", "detail", "cells")
    OP_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    op: int
    status: int
    detail: str
    cells: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, op: _Optional[int] = ..., status: _Optional[int] = ..., detail: _Optional[str] = ..., cells: _Optional[_Iterable[int]] = ...) -> None: ...

class AddReplica(_message.Message):
    __slots__ = ("op", "key", "replica", "tags")
    OP_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    op: int
    key: ObjectKey
    replica: Replica
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, op: _Optional[int] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., replica: _Optional[_Union[Replica, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class MoveNode(_message.Message):
    __slots__ = ("node", "cell", "queries", "keys", "at_us")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    node: int
    cell: int
    queries: _containers.RepeatedScalarFieldContainer[int]
    keys: _containers.RepeatedCompositeFieldContainer[ObjectKey]
    at_us: int
    def __init__(self, node: _Optional[int] = ..., cell: _Optional[int] = ..., queries: _Optional[_Iterable[int]] = ..., keys: _Optional[_Iterable[_Union[ObjectKey, _Mapping]]] = ..., at_us: _Optional[int] = ...) -> None: ...

class JoinRequest(_message.Message):
    __slots__ = ("cell", "cells")
    CELL_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cell: int
    cells: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cell: _Optional[int] = ..., cells: _Optional[_Iterable[int]] = ...) -> None: ...

class NodeState(_message.Message):
    __slots__ = ("cell", "metadata", "queries", "tombstones", "withdrawn", "objects", "part", "parts")
    CELL_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONES_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    cell: int
    metadata: _containers.RepeatedCompositeFieldContainer[Metadata]
    queries: _containers.RepeatedCompositeFieldContainer[QueryRecord]
    tombstones: _containers.RepeatedCompositeFieldContainer[Tombstone]
    withdrawn: _containers.RepeatedScalarFieldContainer[int]
    objects: _containers.RepeatedCompositeFieldContainer[StoredObject]
    part: int
    parts: int
    def __init__(self, cell: _Optional[int] = ..., metadata: _Optional[_Iterable[_Union[Metadata, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[QueryRecord, _Mapping]]] = ..., tombstones: _Optional[_Iterable[_Union[Tombstone, _Mapping]]] = ..., withdrawn: _Optional[_Iterable[int]] = ..., objects: _Optional[_Iterable[_Union[StoredObject, _Mapping]]] = ..., part: _Optional[int] = ..., parts: _Optional[int] = ...) -> None: ...

class StateDigest(_message.Message):
    __slots__ = ("cell", "entries", "kind")
    CELL_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    cell: int
    entries: _containers.RepeatedScalarFieldContainer[int]
    kind: int
    def __init__(self, cell: _Optional[int] = ..., entries: _Optional[_Iterable[int]] = ..., kind: _Optional[int] = ...) -> None: ...

class CellUpdate(_message.Message):
    __slots__ = ("body", "op", "confirmer")
    BODY_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    CONFIRMER_FIELD_NUMBER: _ClassVar[int]
    body: Storage
    op: int
    confirmer: int
    def __init__(self, body: _Optional[_Union[Storage, _Mapping]] = ..., op: _Optional[int] = ..., confirmer: _Optional[int] = ...) -> None: ...

class PlanRequest(_message.Message):
    __slots__ = ("epoch", "scheme", "initiator")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    INITIATOR_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    scheme: int
    initiator: int
    def __init__(self, epoch: _Optional[int] = ..., scheme: _Optional[int] = ..., initiator: _Optional[int] = ...) -> None: ...

class PlanCopy(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    def __init__(self, plan: _Optional[bytes] = ...) -> None: ...

class CountsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeCounts(_message.Message):
    __slots__ = ("inserts", "tags", "retrieves", "subscriptions", "keys", "pages", "notifications", "answers", "deletes", "withdrawals", "ways", "hops", "cell_ways", "cell_hops", "control", "objects", "queries", "neighbours", "mates")
    INSERTS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    RETRIEVES_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    NOTIFICATIONS_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    DELETES_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWALS_FIELD_NUMBER: _ClassVar[int]
    WAYS_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    CELL_WAYS_FIELD_NUMBER: _ClassVar[int]
    CELL_HOPS_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOURS_FIELD_NUMBER: _ClassVar[int]
    MATES_FIELD_NUMBER: _ClassVar[int]
    inserts: int
    tags: int
    retrieves: int
    subscriptions: int
    keys: int
    pages: int
    notifications: int
    answers: int
    deletes: int
    withdrawals: int
    ways: int
    hops: int
    cell_ways: int
    cell_hops: int
    control: int
    objects: int
    queries: int
    neighbours: int
    mates: int
    def __init__(self, inserts: _Optional[int] = ..., tags: _Optional[int] = ..., retrieves: _Optional[int] = ..., subscriptions: _Optional[int] = ..., keys: _Optional[int] = ..., pages: _Optional[int] = ..., notifications: _Optional[int] = ..., answers: _Optional[int] = ..., deletes: _Optional[int] = ..., withdrawals: _Optional[int] = ..., ways: _Optional[int] = ..., hops: _Optional[int] = ..., cell_ways: _Optional[int] = ..., cell_hops: _Optional[int] = ..., control: _Optional[int] = ..., objects: _Optional[int] = ..., queries: _Optional[int] = ..., neighbours: _Optional[int] = ..., mates: _Optional[int] = ...) -> None: ...

class ItemKey(_message.Message):
    __slots__ = ("world", "key", "source")
    WORLD_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    world: str
    key: ObjectKey
    source: int
    def __init__(self, world: _Optional[str] = ..., key: _Optional[_Union[ObjectKey, _Mapping]] = ..., source: _Optional[int] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("metadata", "data")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    metadata: Metadata
    data: bytes
    def __init__(self, metadata: _Optional[_Union[Metadata, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class TimeWindow(_message.Message):
    __slots__ = ("start_us", "end_us")
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    start_us: int
    end_us: int
    def __init__(self, start_us: _Optional[int] = ..., end_us: _Optional[int] = ...) -> None: ...

class CellHello(_message.Message):
    __slots__ = ("world", "map_epoch", "cell", "stability", "confirmed")
    WORLD_FIELD_NUMBER: _ClassVar[int]
    MAP_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    STABILITY_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    world: str
    map_epoch: int
    cell: int
    stability: int
    confirmed: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, world: _Optional[str] = ..., map_epoch: _Optional[int] = ..., cell: _Optional[int] = ..., stability: _Optional[int] = ..., confirmed: _Optional[_Iterable[int]] = ...) -> None: ...

class CellData(_message.Message):
    __slots__ = ("op", "world", "map_epoch", "cell", "cycles", "needs")
    OP_FIELD_NUMBER: _ClassVar[int]
    WORLD_FIELD_NUMBER: _ClassVar[int]
    MAP_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    op: int
    world: str
    map_epoch: int
    cell: int
    cycles: _containers.RepeatedCompositeFieldContainer[CellCycle]
    needs: _containers.RepeatedCompositeFieldContainer[CellNeed]
    def __init__(self, op: _Optional[int] = ..., world: _Optional[str] = ..., map_epoch: _Optional[int] = ..., cell: _Optional[int] = ..., cycles: _Optional[_Iterable[_Union[CellCycle, _Mapping]]] = ..., needs: _Optional[_Iterable[_Union[CellNeed, _Mapping]]] = ...) -> None: ...

class CellCycle(_message.Message):
    __slots__ = ("cycle", "downloads")
    CYCLE_FIELD_NUMBER: _ClassVar[int]
    DOWNLOADS_FIELD_NUMBER: _ClassVar[int]
    cycle: int
    downloads: _containers.RepeatedCompositeFieldContainer[DownloadCount]
    def __init__(self, cycle: _Optional[int] = ..., downloads: _Optional[_Iterable[_Union[DownloadCount, _Mapping]]] = ...) -> None: ...

class DownloadCount(_message.Message):
    __slots__ = ("key", "source", "count", "replicas")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    key: ObjectKey
    source: int
    count: int
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    def __init__(self, key: _Optional[_Union[ObjectKey, _Mapping]] = ..., source: _Optional[int] = ..., count: _Optional[int] = ..., replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ...) -> None: ...

class CellNeed(_message.Message):
    __slots__ = ("tag", "count", "window")
    TAG_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    tag: str
    count: int
    window: TimeWindow
    def __init__(self, tag: _Optional[str] = ..., count: _Optional[int] = ..., window: _Optional[_Union[TimeWindow, _Mapping]] = ...) -> None: ...

class SubscriptionNeeds(_message.Message):
    __slots__ = ("total", "capacity", "needs", "window")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    total: int
    capacity: int
    needs: _containers.RepeatedCompositeFieldContainer[TagNeed]
    window: TimeWindow
    def __init__(self, total: _Optional[int] = ..., capacity: _Optional[int] = ..., needs: _Optional[_Iterable[_Union[TagNeed, _Mapping]]] = ..., window: _Optional[_Union[TimeWindow, _Mapping]] = ...) -> None: ...

class TagNeed(_message.Message):
    __slots__ = ("world", "tag", "count", "window")
    WORLD_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    world: str
    tag: str
    count: int
    window: TimeWindow
    def __init__(self, world: _Optional[str] = ..., tag: _Optional[str] = ..., count: _Optional[int] = ..., window: _Optional[_Union[TimeWindow, _Mapping]] = ...) -> None: ...

class Provision(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ...) -> None: ...

class EdgeNotification(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ...) -> None: ...

class ItemConsumed(_message.Message):
    __slots__ = ("item",)
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: ItemKey
    def __init__(self, item: _Optional[_Union[ItemKey, _Mapping]] = ...) -> None: ...

class StorageChange(_message.Message):
    __slots__ = ("items", "stored")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ItemKey]
    stored: bool
    def __init__(self, items: _Optional[_Iterable[_Union[ItemKey, _Mapping]]] = ..., stored: _Optional[bool] = ...) -> None: ...

class Download(_message.Message):
    __slots__ = ("op", "item", "kind", "cycle", "offset", "length")
    OP_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CYCLE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    op: int
    item: ItemKey
    kind: int
    cycle: int
    offset: int
    length: int
    def __init__(self, op: _Optional[int] = ..., item: _Optional[_Union[ItemKey, _Mapping]] = ..., kind: _Optional[int] = ..., cycle: _Optional[int] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class Downloaded(_message.Message):
    __slots__ = ("op", "item", "cycle", "offset")
    OP_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    CYCLE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    op: int
    item: Item
    cycle: int
    offset: int
    def __init__(self, op: _Optional[int] = ..., item: _Optional[_Union[Item, _Mapping]] = ..., cycle: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class WorldMap(_message.Message):
    __slots__ = ("world", "name", "cells", "epoch")
    WORLD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    world: str
    name: str
    cells: int
    epoch: int
    def __init__(self, world: _Optional[str] = ..., name: _Optional[str] = ..., cells: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class CreateWorld(_message.Message):
    __slots__ = ("op", "name")
    OP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    op: int
    name: str
    def __init__(self, op: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class WorldList(_message.Message):
    __slots__ = ("op", "worlds")
    OP_FIELD_NUMBER: _ClassVar[int]
    WORLDS_FIELD_NUMBER: _ClassVar[int]
    op: int
    worlds: _containers.RepeatedCompositeFieldContainer[WorldMap]
    def __init__(self, op: _Optional[int] = ..., worlds: _Optional[_Iterable[_Union[WorldMap, _Mapping]]] = ...) -> None: ...

class Describe(_message.Message):
    __slots__ = ("op", "query", "conjunction", "keys")
    OP_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CONJUNCTION_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    op: int
    query: int
    conjunction: int
    keys: _containers.RepeatedCompositeFieldContainer[ObjectKey]
    def __init__(self, op: _Optional[int] = ..., query: _Optional[int] = ..., conjunction: _Optional[int] = ..., keys: _Optional[_Iterable[_Union[ObjectKey, _Mapping]]] = ...) -> None: ...

class Relay(_message.Message):
    __slots__ = ("target", "body")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    target: NodeAddress
    body: Storage
    def __init__(self, target: _Optional[_Union[NodeAddress, _Mapping]] = ..., body: _Optional[_Union[Storage, _Mapping]] = ...) -> None: ...

class NodeAddress(_message.Message):
    __slots__ = ("node", "cell")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    node: int
    cell: int
    def __init__(self, node: _Optional[int] = ..., cell: _Optional[int] = ...) -> None: ...

class Datagram(_message.Message):
    __slots__ = ("id", "origin_cell", "targets", "scope", "hops", "recovery", "search", "initiator", "namespace", "storage", "beacon", "routes", "undeliverable", "fragment", "edge_probe", "edge_answer", "edge_beacon", "area_hello")
    ID_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_CELL_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    INITIATOR_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    BEACON_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    UNDELIVERABLE_FIELD_NUMBER: _ClassVar[int]
    FRAGMENT_FIELD_NUMBER: _ClassVar[int]
    EDGE_PROBE_FIELD_NUMBER: _ClassVar[int]
    EDGE_ANSWER_FIELD_NUMBER: _ClassVar[int]
    EDGE_BEACON_FIELD_NUMBER: _ClassVar[int]
    AREA_HELLO_FIELD_NUMBER: _ClassVar[int]
    id: int
    origin_cell: int
    targets: _containers.RepeatedCompositeFieldContainer[NodeAddress]
    scope: int
    hops: int
    recovery: Recovery
    search: Search
    initiator: int
    namespace: str
    storage: Storage
    beacon: Beacon
    routes: RouteTable
    undeliverable: Undeliverable
    fragment: Fragment
    edge_probe: EdgeProbe
    edge_answer: EdgeAnswer
    edge_beacon: EdgeBeacon
    area_hello: AreaHello
    def __init__(self, id: _Optional[int] = ..., origin_cell: _Optional[int] = ..., targets: _Optional[_Iterable[_Union[NodeAddress, _Mapping]]] = ..., scope: _Optional[int] = ..., hops: _Optional[int] = ..., recovery: _Optional[_Union[Recovery, _Mapping]] = ..., search: _Optional[_Union[Search, _Mapping]] = ..., initiator: _Optional[int] = ..., namespace: _Optional[str] = ..., storage: _Optional[_Union[Storage, _Mapping]] = ..., beacon: _Optional[_Union[Beacon, _Mapping]] = ..., routes: _Optional[_Union[RouteTable, _Mapping]] = ..., undeliverable: _Optional[_Union[Undeliverable, _Mapping]] = ..., fragment: _Optional[_Union[Fragment, _Mapping]] = ..., edge_probe: _Optional[_Union[EdgeProbe, _Mapping]] = ..., edge_answer: _Optional[_Union[EdgeAnswer, _Mapping]] = ..., edge_beacon: _Optional[_Union[EdgeBeacon, _Mapping]] = ..., area_hello: _Optional[_Union[AreaHello, _Mapping]] = ...) -> None: ...

class EdgeProbe(_message.Message):
    __slots__ = ("nonce",)
    NONCE_FIELD_NUMBER: _ClassVar[int]
    nonce: int
    def __init__(self, nonce: _Optional[int] = ...) -> None: ...

class EdgeAnswer(_message.Message):
    __slots__ = ("nonce", "edge", "worlds", "signature")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    EDGE_FIELD_NUMBER: _ClassVar[int]
    WORLDS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    nonce: int
    edge: int
    worlds: _containers.RepeatedCompositeFieldContainer[WorldMap]
    signature: bytes
    def __init__(self, nonce: _Optional[int] = ..., edge: _Optional[int] = ..., worlds: _Optional[_Iterable[_Union[WorldMap, _Mapping]]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class EdgeBeacon(_message.Message):
    __slots__ = ("edge", "sequence", "world", "members", "signature", "visitors")
    EDGE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WORLD_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    VISITORS_FIELD_NUMBER: _ClassVar[int]
    edge: int
    sequence: int
    world: WorldMap
    members: _containers.RepeatedScalarFieldContainer[int]
    signature: bytes
    visitors: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, edge: _Optional[int] = ..., sequence: _Optional[int] = ..., world: _Optional[_Union[WorldMap, _Mapping]] = ..., members: _Optional[_Iterable[int]] = ..., signature: _Optional[bytes] = ..., visitors: _Optional[_Iterable[int]] = ...) -> None: ...

class AreaHello(_message.Message):
    __slots__ = ("world", "leaving", "visiting")
    WORLD_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    VISITING_FIELD_NUMBER: _ClassVar[int]
    world: str
    leaving: bool
    visiting: bool
    def __init__(self, world: _Optional[str] = ..., leaving: _Optional[bool] = ..., visiting: _Optional[bool] = ...) -> None: ...

class Recovery(_message.Message):
    __slots__ = ("entered", "first_from", "first_to", "previous", "crossed", "gap")
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    FIRST_FROM_FIELD_NUMBER: _ClassVar[int]
    FIRST_TO_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    CROSSED_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    entered: int
    first_from: int
    first_to: int
    previous: int
    crossed: _containers.RepeatedScalarFieldContainer[int]
    gap: bool
    def __init__(self, entered: _Optional[int] = ..., first_from: _Optional[int] = ..., first_to: _Optional[int] = ..., previous: _Optional[int] = ..., crossed: _Optional[_Iterable[int]] = ..., gap: _Optional[bool] = ...) -> None: ...

class Search(_message.Message):
    __slots__ = ("entered", "visited", "trail")
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    VISITED_FIELD_NUMBER: _ClassVar[int]
    TRAIL_FIELD_NUMBER: _ClassVar[int]
    entered: int
    visited: _containers.RepeatedCompositeFieldContainer[NodeAddress]
    trail: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, entered: _Optional[int] = ..., visited: _Optional[_Iterable[_Union[NodeAddress, _Mapping]]] = ..., trail: _Optional[_Iterable[int]] = ...) -> None: ...

class Beacon(_message.Message):
    __slots__ = ("cell", "moving", "cells", "around", "island", "count", "gap")
    CELL_FIELD_NUMBER: _ClassVar[int]
    MOVING_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    AROUND_FIELD_NUMBER: _ClassVar[int]
    ISLAND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    cell: int
    moving: bool
    cells: int
    around: int
    island: int
    count: int
    gap: int
    def __init__(self, cell: _Optional[int] = ..., moving: _Optional[bool] = ..., cells: _Optional[int] = ..., around: _Optional[int] = ..., island: _Optional[int] = ..., count: _Optional[int] = ..., gap: _Optional[int] = ...) -> None: ...

class RouteTable(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[RouteEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[RouteEntry, _Mapping]]] = ...) -> None: ...

class RouteEntry(_message.Message):
    __slots__ = ("destination", "metric", "sequence")
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    destination: int
    metric: int
    sequence: int
    def __init__(self, destination: _Optional[int] = ..., metric: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class Undeliverable(_message.Message):
    __slots__ = ("datagram", "target")
    DATAGRAM_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    datagram: int
    target: NodeAddress
    def __init__(self, datagram: _Optional[int] = ..., target: _Optional[_Union[NodeAddress, _Mapping]] = ...) -> None: ...

class Fragment(_message.Message):
    __slots__ = ("part", "parts", "data")
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    part: int
    parts: int
    data: bytes
    def __init__(self, part: _Optional[int] = ..., parts: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

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

from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeviceMessage(_message.Message):
    __slots__ = ("id", "timestamp", "telemetries")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TELEMETRIES_FIELD_NUMBER: _ClassVar[int]
    id: str
    timestamp: int
    telemetries: _containers.RepeatedCompositeFieldContainer[Telemetry]
    def __init__(self, id: _Optional[str] = ..., timestamp: _Optional[int] = ..., telemetries: _Optional[_Iterable[_Union[Telemetry, _Mapping]]] = ...) -> None: ...

class Telemetry(_message.Message):
    __slots__ = ("metric", "uom", "string_value", "long_value", "double_value", "bytes_value", "timestamp")
    METRIC_FIELD_NUMBER: _ClassVar[int]
    UOM_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    LONG_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    metric: str
    uom: str
    string_value: str
    long_value: int
    double_value: float
    bytes_value: bytes
    timestamp: int
    def __init__(self, metric: _Optional[str] = ..., uom: _Optional[str] = ..., string_value: _Optional[str] = ..., long_value: _Optional[int] = ..., double_value: _Optional[float] = ..., bytes_value: _Optional[bytes] = ..., timestamp: _Optional[int] = ...) -> None: ...

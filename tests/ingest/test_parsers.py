"""Forms of messages: the same content gives the same measurements, and nothing is guessed."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.ingest.parsers.parser import Parsed, find_parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.parsers.telemetry_pb2 import DeviceMessage, Telemetry
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import LAST_TIME, Measurement
from tests.ingest.senders import FIGURE, FORMS, MEASURED, NOW, as_csv, as_json, measurements, plain, units


def parse(form: str, data: bytes, received: int = NOW, **schema: Any) -> Parsed:
    return find_parser(form)(ParserSchema.model_validate(schema)).parse(data, received)


def refusal(form: str, data: bytes, **schema: Any) -> str:
    with pytest.raises(Rejected) as caught:
        parse(form, data, **schema)
    assert caught.value.stage == "parse"
    return caught.value.reason


def test_json_and_protobuf_of_the_figure_are_equal() -> None:
    message = DeviceMessage(
        id="device1",
        timestamp=NOW,
        telemetries=[
            Telemetry(metric="temperature", uom="K", double_value=500.0),
            Telemetry(metric="rotationSpeed", uom="RPM", long_value=5600),
            Telemetry(metric="status", string_value="Active"),
        ],
    )
    assert (
        parse("protobuf", message.SerializeToString(), 5) == parse("json", FIGURE, 5) == ("device1", MEASURED)
    )
    assert parse("cbor", cbor2.dumps(json.loads(FIGURE)), 5) == ("device1", MEASURED)


@given(measurements())
def test_the_same_content_is_the_same_in_all_forms(content: list[Measurement]) -> None:
    for form, write in FORMS.items():
        assert parse(form, write(content)).measurements == content


lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)
words = lines.filter(lambda text: text and "=" not in text and text not in ("id", "timestamp"))


@given(measurements(words, lines))
def test_forms_without_types_have_them_from_the_table(content: list[Measurement]) -> None:
    """In text, in CSV with a column a metric, and in SenML."""
    content = list({each.metric: each for each in content}.values())
    named = {each.metric: f"n{number}" for number, each in enumerate(content)}
    names = {named[m.metric]: {"metric": m.metric, "type": m.type, "uom": m.uom} for m in content}
    texts = {m.metric: repr(m.value) if m.type == "Double" else str(plain(m.value)) for m in content}
    rows = [f"timestamp={m.time}\n{named[m.metric]}={texts[m.metric]}\n" for m in content]
    assert parse("text", "".join(rows).encode(), names=names).measurements == content
    filled = [m for m in content if texts[m.metric]]
    columns = ["timestamp", *(named[m.metric] for m in filled)]
    file = io.StringIO(newline="")
    for row in filled:
        csv.writer(file).writerow([row.time, *(texts[m.metric] if m is row else "" for m in filled)])
    assert parse("csv", file.getvalue().encode(), names=names, columns=columns).measurements == filled
    field = {"Long": "v", "Double": "v", "String": "vs", "Bytes": "vd"}
    recent = [m._replace(time=m.time // 1000 * 1000 + (1 << 28) * 1000) for m in content]
    recent = [m for m in recent if m.time <= LAST_TIME]
    pack = [{"n": named[m.metric], "t": m.time // 1000, field[m.type]: m.value} for m in recent]
    assert parse("senml-cbor", cbor2.dumps(pack), names=names).measurements == recent


@given(measurements(), units)
def test_short_names_mean_what_the_table_says(content: list[Measurement], uom: str | None) -> None:
    names = {m.metric: {"metric": f"long {m.metric}"[:256], "uom": uom} for m in content}
    expected = [m._replace(metric=f"long {m.metric}", uom=m.uom or uom) for m in content]
    for form, write in FORMS.items():
        assert parse(form, write(content), names=names, only_names=True).measurements == expected


def one(value: Any, kind: str | None = None) -> dict[str, Any]:
    return {"telemetries": [{"metric": "t", "value": value} | ({"type": kind} if kind else {})]}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("Double", 5, 5.0),
        ("Double", 5.5, 5.5),
        ("Double", (1 << 63) - 1, 2.0**63),
        ("Long", 5, 5),
        ("Long", -(1 << 63), -(1 << 63)),
        ("String", "5", "5"),
        ("Bytes", "aGk=", b"hi"),
    ],
)
def test_values_that_fit_their_type(kind: str, value: Any, expected: Any) -> None:
    for form, dumps in (("json", lambda item: json.dumps(item).encode()), ("cbor", cbor2.dumps)):
        (measured,) = parse(form, dumps(one(value, kind))).measurements
        assert (type(measured.value), measured.value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("Long", 5.5, "value"),
        ("Long", 5.0, "value"),
        ("Long", 1 << 63, "value"),
        ("Long", "5", "value"),
        ("Long", True, None),
        ("Double", True, None),
        ("Double", 1 << 64, "value"),
        ("Double", "5.0", "value"),
        ("String", 5, "value"),
        ("Bytes", "no Base64!", "value"),
        ("Bytes", 5, "value"),
        ("Float", 5.0, "type"),
        ("String", None, None),
        ("String", ["x"], None),
    ],
)
def test_values_that_do_not_fit_their_type_are_refused(kind: str, value: Any, reason: str | None) -> None:
    assert refusal("json", json.dumps(one(value, kind)).encode()) == (reason or "malformed")
    assert refusal("cbor", cbor2.dumps(one(value, kind))) == (reason or "value")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    assert refusal("cbor", cbor2.dumps(one(value))) == "value"
    message = DeviceMessage(telemetries=[Telemetry(metric="t", double_value=value)])
    assert refusal("protobuf", message.SerializeToString()) == "value"
    assert refusal("csv", f"1,t,{value},Double,".encode()) == "value"
    assert refusal("json", json.dumps(one(value, "Double")).encode()) == "malformed"
    assert refusal("senml", json.dumps([{"n": "t", "v": value}]).encode()) == "malformed"


@pytest.mark.parametrize("text", ["1_000", " 5", "٣", "5.0", "", "0x10", "1" * 401])
def test_written_numbers_are_what_other_languages_take_for_numbers(text: str) -> None:
    assert refusal("csv", f"1,t,{text},Long,".encode()) == "value"
    if text != "5.0":
        assert refusal("csv", f"1,t,{text},Double,".encode()) == "value"


def test_a_type_has_to_be_known() -> None:
    data = json.dumps(one(5)).encode()
    assert refusal("json", data) == "type"
    names = {"t": {"metric": "temperature", "type": "Double"}}
    assert parse("json", data, names=names).measurements == [
        Measurement(NOW, "temperature", "Double", 5.0, None)
    ]
    assert refusal("json", json.dumps(one(5, "Long")).encode(), names=names) == "type"
    assert (
        refusal("protobuf", DeviceMessage(telemetries=[Telemetry(metric="t")]).SerializeToString()) == "value"
    )


def test_limits_of_a_message() -> None:
    content = [Measurement(NOW, "metric", "Long", number, "unit") for number in range(3)]
    for form, write in FORMS.items():
        data = write(content)
        assert parse(form, data, longest_label=6, most_measurements=3).measurements == content
        assert refusal(form, data, longest_label=5) == "label"
        assert refusal(form, data, most_measurements=2) == "too many"
        assert refusal(form, data, only_names=True) == "unknown name"
        assert refusal(form, write([content[0]._replace(metric="")])) == "label"
        assert refusal(form, write([content[0]._replace(uom="u" * 257)])) == "label"
        assert refusal(form, write([content[0]._replace(time=-1)])) == "timestamp"
        assert refusal(form, write([content[0]._replace(time=LAST_TIME + 1)])) == "timestamp"


def test_rows_have_their_columns() -> None:
    assert refusal("csv", b"1,t,5,Long") == "columns"
    assert refusal("csv", b'1,t,"5,Long,') == "malformed"
    assert refusal("csv", b"\xff,t,5,Long,") == "malformed"
    columns = ["id", "metric", "value", "type"]
    assert parse("csv", b"a,t,5,Long\n\na,u,6,Long\n", columns=columns).device == "a"
    assert refusal("csv", b"a,t,5,Long\nb,u,6,Long\n", columns=columns) == "another device"
    content = [Measurement(NOW, 'a,"b"\r\n', "String", "\0;\n", None)]
    assert parse("csv", as_csv(content)).measurements == content


def test_text_may_be_a_value_alone() -> None:
    names = {"": {"metric": "temperature", "type": "Double", "uom": "K"}}
    assert parse("text", b"21.5\n", names=names).measurements == [
        Measurement(NOW, "temperature", "Double", 21.5, "K")
    ]
    assert refusal("text", b"warm", names=names) == "value"
    names = {"t": {"metric": "temperature", "type": "Double"}}
    assert parse("text", b"id=device1\r\nt=1\r\n\r\n", names=names).device == "device1"
    assert refusal("text", b"21.5", names=names) == "malformed"
    assert refusal("text", b"u=21.5", names=names) == "unknown name"
    assert refusal("text", b"t=1\n" * 4, names=names, most_measurements=3) == "too many"


def test_records_of_senml_share_base_values() -> None:
    pack: list[dict[str, Any]] = [
        {
            "bn": "urn:dev:ow:10e2073a01080063:",
            "bt": 1.276020076e9,
            "bu": "A",
            "n": "voltage",
            "u": "V",
            "v": 120.1,
        },
        {"n": "current", "t": -5, "v": 1.2},
        {"n": "label", "t": 0.001, "vs": "x"},
        {"n": "raw", "vd": "aGk_"},
    ]
    name = "urn:dev:ow:10e2073a01080063:{}".format
    expected = [
        Measurement(1276020076000, name("voltage"), "Double", 120.1, "V"),
        Measurement(1276020071000, name("current"), "Double", 1.2, "A"),
        Measurement(1276020076001, name("label"), "String", "x", "A"),
        Measurement(1276020076000, name("raw"), "Bytes", b"hi?", "A"),
    ]
    assert parse("senml", json.dumps(pack).encode()).measurements == expected
    numbers = {"bn": -2, "bt": -3, "bu": -4, "n": 0, "u": 1, "v": 2, "vs": 3, "t": 6, "vd": 8}
    encoded = [{numbers[key]: value for key, value in record.items()} for record in pack]
    encoded[3][8] = b"hi?"
    assert parse("senml-cbor", cbor2.dumps(encoded)).measurements == expected
    names = {"voltage": {"metric": "U", "type": "Double"}}
    assert parse("senml", json.dumps(pack).encode(), names=names).measurements[0].metric == "U"


def test_times_of_senml_may_be_relative_and_values_too() -> None:
    pack = [{"bv": 20, "bver": 10}, {"n": "t", "v": 1.5, "t": -2}, {"n": "t", "v": 2}]
    assert parse("senml", json.dumps(pack).encode()).measurements == [
        Measurement(NOW - 2000, "t", "Double", 21.5, None),
        Measurement(NOW, "t", "Double", 22.0, None),
    ]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"n": "t"}, "value"),
        ({"n": "t", "vb": True}, "value"),
        ({"n": "t", "s": 1}, "value"),
        ({"n": "t", "v": 1, "vs": "x"}, "value"),
        ({"n": "t", "v": "1"}, "value"),
        ({"n": "t", "v": 1, "x_": 1}, "malformed"),
        ({"n": "t", "v": 1, "bver": 11}, "malformed"),
        ({"n": 1, "v": 1}, "malformed"),
        ({"n": "t", "vd": "§"}, "value"),
        ({"n": "t", "vd": "aG!k"}, "value"),
        ({"v": 1}, "label"),
    ],
)
def test_records_of_senml_that_are_no_measurements_are_refused(record: dict[str, Any], reason: str) -> None:
    assert refusal("senml", json.dumps([record]).encode()) == reason


def test_nothing_may_come_behind_a_message() -> None:
    assert refusal("json", as_json([]) + b"{}") == "malformed"
    assert refusal("cbor", cbor2.dumps({"telemetries": []}) + b"\0") == "malformed"

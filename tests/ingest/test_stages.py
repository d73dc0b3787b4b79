"""The way of a message from bytes to measurements: what was sealed is read, all else is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bypass.ingest.compression import Compression, compress
from bypass.ingest.rejection import Rejected
from bypass.ingest.security.aes import CbcHmac512
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.plain import fletcher16
from bypass.ingest.security.suite import SUITES, find_suite
from bypass.ingest.stages.chain import Decoded, StageChain
from bypass.ports.measurements import Measurement
from tests.ingest.senders import (
    CONFIGURATIONS,
    FIGURE,
    FORMS,
    MEASURED,
    NOW,
    PROTECTED,
    Keys,
    Sender,
    key_set,
    measurements,
    token,
)

COMPRESSIONS: tuple[Compression, ...] = ("none", "gzip", "zstd")


def refusal(chain: StageChain, frame: bytes, received: int = NOW) -> tuple[str, str]:
    with pytest.raises(Rejected) as caught:
        chain(frame, received)
    return caught.value.stage, caught.value.reason


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_message_of_the_figure_passes_all_stages(name: str) -> None:
    sender = Sender(**CONFIGURATIONS[name])
    assert sender.chain(sender.seal(), NOW) == Decoded(sender.sequence, MEASURED)


@given(
    st.sampled_from(list(CONFIGURATIONS)),
    st.sampled_from(COMPRESSIONS),
    st.sampled_from(list(FORMS)),
    measurements(),
)
def test_what_is_sealed_is_read(
    name: str, compression: Compression, form: str, content: list[Measurement]
) -> None:
    sender = Sender(**CONFIGURATIONS[name], compression=compression, parser=form)
    assert sender.chain(sender.seal(FORMS[form](content)), NOW) == Decoded(sender.sequence, content)


@pytest.mark.parametrize("name", PROTECTED)
def test_a_flipped_bit_anywhere_is_refused(name: str) -> None:
    sender = Sender(**CONFIGURATIONS[name])
    frame, chain = sender.seal(b'{"telemetries": []}'), sender.chain
    assert chain(frame, NOW)
    for position in range(8 * len(frame)):
        damaged = bytearray(frame)
        damaged[position // 8] ^= 1 << position % 8
        assert refusal(chain, bytes(damaged))[0] in ("integrity", "peer")


@pytest.mark.parametrize("name", PROTECTED)
def test_a_truncated_frame_is_refused(name: str) -> None:
    sender = Sender(**CONFIGURATIONS[name])
    frame, chain = sender.seal(b'{"telemetries": []}'), sender.chain
    for length in range(len(frame)):
        assert refusal(chain, frame[:length])[0] in ("integrity", "peer")


def test_a_checksum_finds_a_flipped_bit() -> None:
    sender = Sender(suite="NULL_CKSM-FLETCHER16")
    frame, chain = sender.seal(), sender.chain
    for position in range(8 * len(frame)):
        damaged = bytearray(frame)
        damaged[position // 8] ^= 1 << position % 8
        assert refusal(chain, bytes(damaged)) == ("integrity", "control code")
    assert refusal(chain, b"\0") == ("integrity", "short frame")


def test_the_checksum_is_that_of_fletcher() -> None:
    known = {b"abcde": 0xC8F0, b"abcdef": 0x2057, b"abcdefgh": 0x0627, b"": 0}
    assert {text: fletcher16(text) for text in known} == known


@given(st.binary(max_size=600))
def test_the_checksum_is_the_same_as_byte_for_byte(data: bytes) -> None:
    first = second = 0
    for byte in data:
        first = (first + byte) % 255
        second = (second + first) % 255
    assert fletcher16(data) == second << 8 | first


@pytest.mark.parametrize("suite", [name for name in SUITES if find_suite(name).authenticates])
def test_a_wrong_key_is_refused(suite: str) -> None:
    sender = Sender(suite=suite)
    others = Keys(own=[key_set(find_suite(suite).roles, seed=100)])
    assert refusal(StageChain(sender.device.record(), others), sender.seal()) == ("integrity", "control code")


@pytest.mark.parametrize("suite", [name for name in SUITES if find_suite(name).authenticates])
@pytest.mark.parametrize("other", SUITES)
def test_a_wrong_suite_is_refused(suite: str, other: str) -> None:
    if suite != other:
        assert refusal(Sender(suite=suite).chain, Sender(suite=other).seal())[0] == "integrity"


@pytest.mark.parametrize("suite", [name for name in SUITES if find_suite(name).authenticates])
def test_two_keys_are_valid_while_devices_change_over(suite: str) -> None:
    roles = find_suite(suite).roles
    old, new, later = (key_set(roles, seed) for seed in (1, 50, 100))
    sender = Sender(suite=suite)
    frame = sender.seal()
    record = sender.device.record()
    assert StageChain(record, Keys(own=[new, old]))(frame, NOW).measurements == MEASURED
    assert refusal(StageChain(record, Keys(own=[later, new])), frame) == ("integrity", "control code")


def test_a_refusal_is_one_short_line_and_survives_pickling() -> None:
    rejected = Rejected("parse", "malformed", "a\nb" * 1000)
    assert "\n" not in str(rejected)
    assert len(str(rejected)) < 300
    copy = pickle.loads(pickle.dumps(rejected))
    assert (copy.stage, copy.reason, copy.detail) == (rejected.stage, rejected.reason, rejected.detail)


class Watched(CbcHmac512):
    """Notes how often it deciphers."""

    deciphered = 0

    def decipher(self, frame: bytes, start: int, verified: Any) -> bytes:
        type(self).deciphered += 1
        return super().decipher(frame, start, verified)


def test_nothing_is_deciphered_after_a_wrong_control_code_or_token() -> None:
    suite = f"{__name__}:Watched"
    Watched.deciphered = 0
    sender = Sender(suite=suite, proof="ES256", token=token(exp=NOW // 1000))
    frame = sender.seal()
    assert refusal(sender.chain, bytes([frame[0] ^ 1]) + frame[1:]) == ("integrity", "control code")
    assert refusal(sender.chain, frame) == ("peer", "expired token")
    assert Watched.deciphered == 0
    assert sender.chain(frame, NOW - NOW % 1000 - 1).measurements == MEASURED
    assert Watched.deciphered == 1


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": NOW // 1000}, "expired token"),
        ({"nbf": NOW // 1000 + 1}, "token not valid yet"),
        ({"operations": ["read"]}, "operation not allowed"),
        ({"operations": None}, "malformed token"),
        ({"exp": None}, "not authentic"),
        ({"sub": "device2"}, "token of another device"),
    ],
)
def test_a_token_that_does_not_allow_it_is_refused(claims: dict[str, Any], reason: str) -> None:
    given_token = token(**{"exp": NOW // 1000 + 60, **claims})
    sender = Sender(suite="NULL_HMAC-SHA256", proof="ES256", token=given_token)
    assert refusal(sender.chain, sender.seal()) == ("peer", reason)


def test_a_token_expires_while_the_chain_knows_it() -> None:
    sender = Sender(proof="ES256", token=token())
    chain, frame = sender.chain, sender.seal()
    end = NOW - NOW % 1000 + 60_000
    assert chain(frame, end - 1)
    assert refusal(chain, frame, end) == ("peer", "expired token")
    assert chain(frame, end - 1)


def test_a_token_of_another_service_is_refused() -> None:
    ours, other = Sender(proof="ES256", token=token()), Sender(proof="EdDSA", token=token("EdDSA"))
    assert refusal(ours.chain, other.seal()) == ("peer", "not authentic")
    assert ours.chain(ours.seal(), NOW)


@pytest.mark.parametrize("given_token", [None, token()])
def test_a_device_that_may_not_publish_is_refused(given_token: str | None) -> None:
    sender = Sender(proof="ES256", token=given_token, peer={"operations": ("read",)})
    assert refusal(sender.chain, sender.seal()) == ("peer", "operation not allowed")


def test_a_signature_covers_sequence_and_message() -> None:
    sender = Sender(proof="ES256", sequenced=True)
    frame = sender.seal()
    for position in (0, 7, 8, 71, 72, len(frame) - 1):
        damaged = bytearray(frame)
        damaged[position] ^= 1
        assert refusal(sender.chain, bytes(damaged)) == ("peer", "not authentic")


def bomb(compression: Compression) -> bytes:
    return compress(bytes(20_000_000), compression)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_bomb_is_refused_and_takes_no_memory(compression: Compression) -> None:
    import tracemalloc

    sender = Sender(compression=compression)
    chain, small = sender.chain, bomb(compression)
    assert len(small) < 30_000
    tracemalloc.start()
    assert refusal(chain, small) == ("decompress", "too large")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 << 20


@pytest.mark.parametrize("size", [True, False])
def test_what_comes_out_of_zstd_is_bounded_whether_the_frame_says_how_much_or_not(size: bool) -> None:
    import zstandard

    chain = Sender(compression="zstd", largest=len(FIGURE)).chain
    compressor = zstandard.ZstdCompressor(write_content_size=size)
    assert chain(compressor.compress(FIGURE), NOW).measurements == MEASURED
    assert refusal(chain, compressor.compress(FIGURE + b" ")) == ("decompress", "too large")
    assert refusal(chain, compressor.compress(FIGURE)[:-4]) == ("decompress", "malformed")
    assert refusal(chain, compressor.compress(FIGURE) + b"more") == ("decompress", "malformed")


def test_what_comes_out_of_gzip_is_bounded() -> None:
    chain = Sender(compression="gzip", largest=len(FIGURE)).chain
    frame = compress(FIGURE, "gzip")
    assert chain(frame, NOW).measurements == MEASURED
    assert refusal(chain, compress(FIGURE + b" ", "gzip")) == ("decompress", "too large")
    assert refusal(chain, frame[:-4]) == ("decompress", "malformed")
    assert refusal(chain, frame + b"more") == ("decompress", "malformed")
    assert refusal(chain, b"\0" + frame[1:]) == ("decompress", "malformed")


def test_who_has_the_keys_may_still_send_nonsense() -> None:
    sender = Sender(suite="AES256-CBC_HMAC-SHA512")
    keys = sender.keys["own"][0]
    for body, reason in (
        (b"", "ciphertext length"),
        (bytes(47), "ciphertext length"),
        (bytes(32), "padding"),
    ):
        frame = find_suite("NULL_HMAC-SHA512")([keys]).seal(body, lambda _: b"")
        assert refusal(sender.chain, frame) == ("decipher", reason)


def test_times_are_those_of_the_device_or_of_the_arrival() -> None:
    for clock, expected in (("device", NOW), ("received", 5)):
        sender = Sender(clock=clock)
        assert {each.time for each in sender.chain(sender.seal(), 5).measurements} == {expected}
    sender = Sender()
    frame = b'{"telemetries": [{"metric": "t", "value": 1, "type": "Long"}]}'
    assert sender.chain(frame, 5).measurements[0].time == 5


def test_a_message_that_says_it_is_of_another_device_is_refused() -> None:
    sender = Sender(id="app:device1")
    assert sender.chain(sender.seal(), NOW).measurements == MEASURED
    other = FIGURE.replace(b"device1", b"device2")
    assert refusal(sender.chain, other) == ("parse", "another device")


def test_a_configuration_that_cannot_be_used_refuses_all_messages() -> None:
    sender = Sender(suite="AES256-CBC_HMAC-SHA256")
    record = sender.device.record()
    same = KeySet({"encryption": bytes(32), "mac": bytes(32)})
    short = KeySet({"encryption": bytes(16), "mac": bytes(32)})
    for keys, detail in (
        (Keys(), "device1: key set own: missing"),
        (Keys(own=[KeySet({"mac": bytes(32)})]), "device1: key encryption is missing"),
        (Keys(own=[short]), "device1: key encryption has 16 bytes: expected 32"),
        (Keys(own=[same]), "device1: keys encryption, mac are the same: expected one for each"),
    ):
        with pytest.raises(Rejected, match=f"registry: unusable configuration: {detail}"):
            StageChain(record, keys)


FORMLESS: dict[str, dict[str, Any]] = {
    **{form: {} for form in (*FORMS, "senml", "senml-cbor")},
    "text": {"parser_schema": {"names": {"t": {"metric": "t", "type": "Double"}}}},
}
CHAINS: dict[tuple[str, str, str], StageChain] = {
    (name, compression, form): Sender(**each, compression=compression, parser=form, **schema).chain
    for name, each in CONFIGURATIONS.items()
    for compression in COMPRESSIONS
    for form, schema in FORMLESS.items()
    if name in ("NULL_NULL", "jwt") or (compression == "none" and form == "json")
}


def decode_or_refuse(chain: StageChain, data: bytes, received: int) -> None:
    """Fail if something else happens; "failed" would be an error of ours."""
    reason = ""
    try:
        assert isinstance(chain(data, received), Decoded)
    except Rejected as rejected:
        reason = rejected.reason
    assert reason != "failed"


@given(st.sampled_from(list(CHAINS)), st.binary(max_size=300), st.integers(0, 1 << 45))
@example(("NULL_NULL", "none", "json"), b"[" * 100_000, 0)
@example(("NULL_NULL", "none", "json"), b'{"telemetries":[],"x":' + b"[" * 100_000, 0)
@example(("NULL_NULL", "none", "cbor"), b"\x81" * 100_000, 0)
@example(("NULL_NULL", "none", "cbor"), bytes.fromhex("c4821b7fffffffffffffff01"), 0)
@example(("NULL_NULL", "none", "cbor"), bytes.fromhex("5a40000000"), 0)
@example(("NULL_NULL", "none", "senml-cbor"), bytes.fromhex("81a222f9000002c249") + b"\xff" * 9, 0)
def test_any_bytes_are_decoded_or_refused(key: tuple[str, str, str], data: bytes, received: int) -> None:
    decode_or_refuse(CHAINS[key], data, received)


@given(st.sampled_from(list(FORMS)), measurements(), st.data())
def test_damaged_messages_are_decoded_or_refused(
    form: str, content: list[Measurement], data: st.DataObject
) -> None:
    message = bytearray(FORMS[form](content))
    for _ in range(data.draw(st.integers(1, 4))):
        if message:
            message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    decode_or_refuse(CHAINS["NULL_NULL", "none", form], bytes(message), NOW)

"""The device's side: it is small, and frames are as long as they are said to be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bypass.ingest.sealing import Sealer
from bypass.ingest.security.suite import find_suite
from tests.ingest.senders import PAIRS, key_set, token


@pytest.mark.parametrize(("plain", "frame"), [(8, 96), (16, 112), (100, 192), (1000, 1088)])
def test_frames_have_their_known_length(plain: int, frame: int) -> None:
    suite = "AES256-CBC_HMAC-SHA512"
    sealer = Sealer(suite=suite, keys=key_set(find_suite(suite).roles))
    assert len(sealer.seal(bytes(plain))) == frame
    assert len(sealer.seal(bytes(plain), sequence=1)) == frame + 8


def test_two_frames_of_one_message_differ_if_it_is_encrypted() -> None:
    for suite in ("AES256-CBC_HMAC-SHA256", "AES256-GCM"):
        sealer = Sealer(suite=suite, keys=key_set(find_suite(suite).roles))
        assert sealer.seal(b"message") != sealer.seal(b"message")


def test_what_cannot_be_sealed_is_refused() -> None:
    private = PAIRS["ES256"][0]
    for fields, complaint in (
        ({"token": token(), "private_key": private}, "token and private_key are given: expected one of them"),
        ({"token": "x" * 65_536}, "token has 65536 characters: expected at most 65535"),
        ({"standard": "COSE", "token": token()}, "standard has proofs of its own"),
        ({"suite": "NULL_HMAC-SHA256"}, "key mac is missing: expected mac"),
        ({"suite": "AES256-CBC_NULL"}, "encrypt without authentication"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Sealer(**fields)
    for sequence in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"sequence is {sequence}: expected 0 to"):
            Sealer().seal(b"", sequence)


@pytest.mark.parametrize(
    ("use", "cryptography"),
    [
        ("Sealer().seal(b'x')", False),
        (
            "Sealer(suite='NULL_HMAC-SHA512', keys={'mac': bytes(64)}, compression='gzip').seal(b'x', 1)",
            False,
        ),
        ("Sealer(suite='AES256-GCM', keys={'encryption': bytes(32)}).seal(b'x', 1)", True),
    ],
)
def test_a_device_needs_little(use: str, cryptography: bool) -> None:
    code = (
        "import sys\nfrom bypass.ingest.categories import topic_of\n"
        "from bypass.ingest.sealing import Sealer\n"
        f"topic_of('app', 'device1')\n{use}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "pyarrow", "pyspark", "pandas", "pydantic", "msgspec", "google", "zmq"}
    assert ("cryptography" in loaded) == cryptography

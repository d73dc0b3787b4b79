"""Access to NATS servers: TLS, and each proof that a client may give, against real servers."""

from __future__ import annotations

import hashlib
import json
import logging
from base64 import b32encode, urlsafe_b64encode
from binascii import crc_hqx
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import choose_log, close_logs, find_log, make_log
from bypass.ingest.log.jetstream.connection import NatsConnection
from bypass.ingest.log.jetstream.user_keys import InvalidUserKey, UserKey
from bypass.ingest.log.message_log import InvalidLog, LogFailed
from bypass.ingest.security.private_file import InvalidKeyFile
from bypass.ingest.service.status import read_status
from tests.command import refused
from tests.ingest.certificates import certificate
from tests.ingest.nats_servers import NatsServer, nats_server

PASSWORD = "correct-horse"
USER, ACCOUNT, OPERATOR = 20 << 3, 0, 14 << 3


def secret(path: Path, text: str = PASSWORD) -> Path:
    path.touch(0o600)
    path.write_text(text + "\n")
    return path


def named(prefix: bytes, key: bytes) -> str:
    raw = prefix + key
    return b32encode(raw + crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")


class KeyPair:
    """A key pair of NATS, of any kind, that signs claims."""

    def __init__(self, kind: int) -> None:
        self._key, self._kind = Ed25519PrivateKey.generate(), kind
        self.public = named(bytes([kind]), self._key.public_key().public_bytes_raw())
        self.seed = named(bytes([18 << 3 | kind >> 5, (kind & 31) << 3]), self._key.private_bytes_raw())

    def jwt(self, subject: str, name: str, claims: Mapping[str, object]) -> str:
        body = {"iss": self.public, "sub": subject, "name": name, "iat": 1, "nats": {**claims, "version": 2}}
        body["jti"] = b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).decode().rstrip("=")
        parts = [
            urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=")
            for each in ({"typ": "JWT", "alg": "ed25519-nkey"}, body)
        ]
        signature = self._key.sign(".".join(parts).encode())
        return ".".join((*parts, urlsafe_b64encode(signature).decode().rstrip("=")))


def use(folder: IngestFolder, name: str) -> None:
    """Append a record to a log, read it, and take a lease."""
    choose_log(folder, name)
    log = find_log(folder)
    writer = log.open_writer("w")
    records = Records()
    records.add("d", 0, b"payload", 0)
    writer.append(records)
    assert sum(block.num_rows for _, block in log.read({}, log.ends({}, 10, 1000), {*range(16)})) == 1
    assert log.leases().change("app", len) == 0
    writer.close()


@contextmanager
def guarded_server(folder: Path, more: str) -> Iterator[tuple[NatsServer, Path]]:
    """A server with TLS, and the file of its certificate."""
    folder.mkdir(exist_ok=True)
    cert, key = certificate(folder)
    with nats_server(
        folder / "server", f'\ntls {{ cert_file: "{cert}", key_file: "{key}" }}\n{more}'
    ) as server:
        try:
            yield server, cert
        finally:
            close_logs()


def operator_mode(folder: Path) -> tuple[str, Path]:
    """The configuration of a server that trusts an operator, and the credentials of a user of it."""
    operator, system, account, user = map(KeyPair, (OPERATOR, ACCOUNT, ACCOUNT, USER))
    unlimited = dict.fromkeys(("subs", "conn", "leaf", "imports", "exports", "data", "payload"), -1)
    stored = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
    accounts = {
        system.public: {"type": "account", "limits": unlimited},
        account.public: {"type": "account", "limits": {**unlimited, **stored}},
    }
    preloaded = "\n".join(f"{name}: {operator.jwt(name, 'a', claims)}" for name, claims in accounts.items())
    own = operator.jwt(operator.public, "o", {"type": "operator", "system_account": system.public})
    rights = {"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}
    jwt = account.jwt(user.public, "u", rights)
    file = secret(
        folder / "user.creds",
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------",
    )
    more = f"operator: {own}\nsystem_account: {system.public}\nresolver: MEMORY\n"
    return more + f"resolver_preload: {{\n{preloaded}\n}}\n", file


@pytest.mark.parametrize("proof", ["password", "token", "nkey", "credentials"])
def test_a_log_is_reached_with_tls_and_a_proof(tmp_path: Path, proof: str) -> None:
    key = KeyPair(USER)
    file = secret(tmp_path / "secret", key.seed if proof == "nkey" else PASSWORD)
    more = f"authorization {{ token: {PASSWORD} }}"
    if proof == "password":
        more = f"authorization {{ user: me, password: {PASSWORD} }}"
    elif proof == "nkey":
        more = f"authorization {{ users: [{{ nkey: {key.public} }}] }}"
    elif proof == "credentials":
        more, file = operator_mode(tmp_path)
    with guarded_server(tmp_path / "tls", more) as (server, cert):
        user = "&user=me" * (proof == "password")
        folder = IngestFolder(tmp_path / "f")
        use(folder, f"nats://{server.address}?ca={cert}&{proof}={file}{user}")
        assert read_status(folder).lag_messages == 1


def test_a_secret_that_is_exchanged_is_used_for_the_next_connection(tmp_path: Path) -> None:
    file = secret(tmp_path / "secret")
    with guarded_server(tmp_path / "tls", f"authorization {{ token: {PASSWORD} }}") as (server, cert):
        name = f"nats://{server.address}?ca={cert}&token={file}"
        use(IngestFolder(tmp_path / "f"), name)
        config = tmp_path / "tls" / "server" / "server.conf"
        config.write_text(config.read_text().replace(PASSWORD, "another"))
        file.write_text("another")
        server.kill()
        server.start()
        assert find_log(IngestFolder(tmp_path / "f")).appended({}) == 1


def test_a_wrong_secret_and_a_wrong_certificate_are_said_without_the_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = secret(tmp_path / "secret", "wrong-secret")
    with guarded_server(tmp_path / "tls", f"authorization {{ token: {PASSWORD} }}") as (server, cert):
        folder = IngestFolder(tmp_path / "f")
        choose_log(folder, f"nats://{server.address}?ca={cert}&token={file}")
        with pytest.raises(LogFailed, match="Authorization Violation") as caught:
            find_log(folder).open_writer("w")
        (tmp_path / "other").mkdir()
        other, _ = certificate(tmp_path / "other")
        with pytest.raises(LogFailed, match="certificate verify failed"):
            make_log(folder, f"nats://{server.address}?ca={other}&token={file}").open_writer("v")
    told = str(caught.value) + caplog.text + folder.log_name.read_text()
    assert "wrong-secret" not in told
    assert PASSWORD not in told


def test_a_server_without_tls_is_told_nothing_by_a_client_that_wants_it(
    tmp_path: Path, nats: NatsServer
) -> None:
    cert, _ = certificate(tmp_path)
    file = secret(tmp_path / "secret")
    log = make_log(IngestFolder(tmp_path / "f"), f"nats://{nats.address}?ca={cert}&token={file}")
    with pytest.raises(LogFailed, match=r"offers no TLS: expected it, because of ca"):
        log.open_writer("w")
    log.close()


def test_a_server_that_is_named_later_is_as_safe_as_the_first(nats: NatsServer) -> None:
    # This machine answers at 0.0.0.0, too, which is none of its loopback addresses.
    connection = NatsConnection([f"0.0.0.0:{nats.port}"])
    with pytest.raises(LogFailed, match=r"server 0.0.0.0:\d+ is another machine: expected ca"):
        assert connection.max_payload
    connection.close()


def test_names_of_logs_are_refused_that_are_not_safe(tmp_path: Path) -> None:
    folder, file = IngestFolder(tmp_path / "f"), secret(tmp_path / "secret")
    cert, _ = certificate(tmp_path)
    for name, message in (
        ("192.0.2.1:4222", "server '192.0.2.1:4222': is another machine: expected ca and one of credentials"),
        (f"127.0.0.1:1,192.0.2.1:4222?ca={cert}", "is another machine"),
        (f"192.0.2.1:4222?token={file}", "is another machine"),
        ("127.0.0.1:1?insecure=maybe", "insecure 'maybe': expected yes"),
        (f"127.0.0.1:1?token={file}&nkey={file}", "nkey and token: expected one of them"),
        (f"127.0.0.1:1?password={file}", "user and password: expected both, or none of them"),
        ("127.0.0.1:1?user=me", "user and password: expected both"),
        (f"127.0.0.1:1?token={PASSWORD}", "token: expected the absolute path of a file"),
        (f"me:{PASSWORD}@127.0.0.1:1", "a server has a user in its address"),
        (f"127.0.0.1:1?ca={file}", "expected certificates in PEM"),
        (f"127.0.0.1:1?ca={tmp_path / 'none'}", "No such file or directory: expected certificates"),
    ):
        with pytest.raises(InvalidLog, match=message) as caught:
            choose_log(folder, f"nats://{name}")
        assert PASSWORD not in str(caught.value)
    for name, message in (
        (f"nkey={file}", "secret: no seed: expected SU and 56 more"),
        (f"credentials={file}", "secret: no credentials: expected a NATS user JWT"),
        (f"token={tmp_path / 'none'}", "No such file or directory: expected a file with a secret"),
        (f"token={secret(tmp_path / 'empty', '')}", "expected a secret as text"),
        (f"token={tmp_path}", "Is a directory: expected a file with a secret"),
    ):
        with pytest.raises(InvalidKeyFile, match=message) as refusal:
            choose_log(folder, f"nats://127.0.0.1:1?{name}")
        assert PASSWORD not in str(refusal.value)
    file.chmod(0o640)
    with pytest.raises(InvalidKeyFile, match="mode 0640: expected one that is its owner's alone: chmod 600"):
        choose_log(folder, f"nats://127.0.0.1:1?token={file}")
    assert not folder.path.exists()
    choose_log(folder, "nats://192.0.2.1:4222?insecure=yes")


def test_a_seed_of_another_kind_is_no_users() -> None:
    key = KeyPair(USER)
    assert UserKey(key.seed).public == key.public
    with pytest.raises(InvalidUserKey, match="of another kind: expected that of a user"):
        UserKey(KeyPair(ACCOUNT).seed)
    with pytest.raises(InvalidUserKey, match="no seed"):
        UserKey(key.seed[:9] + ("A" if key.seed[9] != "A" else "B") + key.seed[10:])


def test_the_command_line_refuses_a_log_on_another_machine_without_tls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("ingest", "start", "--folder", tmp_path / "f", "--log")
    assert "expected ca and one of" in refused(capsys, *start, "nats://192.0.2.1:4222")[1]
    assert not (tmp_path / "f").exists()

"""Access to NATS servers: encrypted and authenticated, unless they are on this machine or somebody asks for
less. Secrets are in files; the name of a log has their paths alone."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client

from bypass.errors import shown
from bypass.ingest.log.jetstream.user_keys import InvalidUserKey, UserKey, read_credentials
from bypass.ingest.log.message_log import InvalidLog
from bypass.ingest.security.private_file import InvalidKeyFile, read_secret
from bypass.live.addresses import is_loopback

T = TypeVar("T")

SYSTEM = "system"
_PROOFS = ("credentials", "nkey", "token", "password")
ACCESS_OPTIONS = frozenset((*_PROOFS, "ca", "user", "insecure"))


class UnsafeServer(nats.errors.Error):
    """A server is not as safe as it has to be, or a secret for it cannot be read: nothing was sent to it."""


@dataclass(frozen=True, slots=True)
class NatsAccess:
    """The certificates that servers have to show one of, and the proof of this client.

    `authority` is None without TLS, "system", or a file in PEM. `proof` is the option that names the file
    `secret`, or None.
    """

    authority: str | None = None
    proof: str | None = None
    secret: Path = Path()
    user: str = ""
    insecure: bool = False

    @classmethod
    def of(cls, servers: Sequence[str], options: Mapping[str, str]) -> NatsAccess:
        """The access that the options of a log say. Raises InvalidLog, and InvalidKeyFile for a secret that
        cannot be used."""
        proofs = [name for name in _PROOFS if name in options]
        if len(proofs) > 1:
            raise InvalidLog(f"nats: {' and '.join(proofs)}: expected one of them")
        proof = proofs[0] if proofs else None
        if (proof == "password") != ("user" in options):
            raise InvalidLog("nats: user and password: expected both, or none of them")
        if options.get("insecure", "yes") != "yes":
            raise InvalidLog(f"nats: insecure {shown(options['insecure'])}: expected yes")
        for name in ("ca", *proofs):  # values are not shown: somebody may have written a secret there
            if name in options and options[name] != SYSTEM and not Path(options[name]).is_absolute():
                raise InvalidLog(f"nats: {name}: expected the absolute path of a file")
        made = cls(
            options.get("ca"),
            proof,
            Path(options[proof]) if proof else Path(),
            options.get("user", ""),
            "insecure" in options,
        )
        others = [server for server in servers if not _is_here(server.rpartition(":")[0])]
        if others and not made.insecure and (made.authority is None or proof is None):
            raise InvalidLog(
                f"nats: server {shown(others[0])}: is another machine: expected ca and one of "
                f"{', '.join(_PROOFS)}, each with a file, or insecure=yes"
            )
        made._options()
        return made

    def connect_options(self) -> dict[str, Any]:
        """The options for the client, with callbacks that read the secret anew at each connection. Raises
        UnsafeServer, as the callbacks do."""
        return _read(self._options)

    def _options(self) -> dict[str, Any]:
        made: dict[str, Any] = {} if self.authority is None else {"tls": self._context(self.authority)}
        if self.proof == "credentials":
            self._credentials()
            made["signature_cb"] = lambda nonce: _read(self._credentials)[1].sign(nonce)
            made["user_jwt_cb"] = lambda: _read(self._credentials)[0]
        elif self.proof == "nkey":
            self._key()
            made["signature_cb"] = lambda nonce: _read(self._key).sign(nonce)
        elif self.proof is not None:
            read_secret(self.secret)
            made[self.proof] = lambda: _read(lambda: read_secret(self.secret))
        if self.proof == "password":
            made["user"] = self.user
        return made

    def public_key(self) -> str | None:
        """The name of the user's key pair, if that is the proof. Raises UnsafeServer."""
        return _read(self._key).public if self.proof == "nkey" else None

    def _context(self, authority: str) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=None if authority == SYSTEM else authority)
        except OSError as error:
            why = error.strerror or "no certificates"
            raise InvalidLog(f"nats: ca {authority}: {why}: expected certificates in PEM") from None

    def _key(self) -> UserKey:
        return self._readable(UserKey)

    def _credentials(self) -> tuple[bytes, UserKey]:
        return self._readable(read_credentials)

    def _readable(self, parse: Callable[[str], T]) -> T:
        try:
            return parse(read_secret(self.secret))
        except InvalidUserKey as error:
            raise InvalidKeyFile(f"{self.secret}: {error}") from None


class GuardedClient(Client):
    """A client that tells a server nothing before the connection is as safe as it has to be: also one that
    other servers named, and each time that the connection is made again.

    The client of nats-py goes on without TLS where a server does not ask for it, whatever it was told.
    """

    def __init__(self, access: NatsAccess) -> None:
        super().__init__()
        self._access = access

    def _connect_command(self) -> bytes:
        assert self._current_server is not None
        uri = self._current_server.uri
        if self._access.authority is not None and not self._server_info.get("tls_required"):
            raise UnsafeServer(f"server {uri.netloc} offers no TLS: expected it, because of ca")
        if self._access.authority is None and not (self._access.insecure or _is_here(uri.hostname or "")):
            raise UnsafeServer(f"server {uri.netloc} is another machine: expected ca")
        self._auth_configured = self._access.proof is not None
        self._public_nkey = self._access.public_key()
        return super()._connect_command()


def _is_here(host: str) -> bool:
    try:
        return is_loopback(host.strip("[]"))
    except OSError:  # a name that nobody knows now may be another machine's later
        return False


def _read(read: Callable[[], T]) -> T:
    """Give what a function reads. Raises UnsafeServer, which has the client try again, if it cannot."""
    try:
        return read()
    except (InvalidKeyFile, InvalidLog) as error:
        raise UnsafeServer(str(error)) from None

"""Errors between a client and a live broker, by name."""

from __future__ import annotations

from bypass.errors import BypassError


class InvalidEndpoint(BypassError):
    """An address that no broker can have."""


class InvalidArgument(BypassError, ValueError):
    """An argument of `connect` that no connection can be made of."""


class NotConnected(BypassError):
    """There is no connection, or it ended before what was asked for was certain."""


class ConnectionRefused(BypassError):
    """The broker does not want this client, or the client cannot work with this broker: it is no use to try
    again."""


class PublicationRefused(BypassError):
    """The broker has not accepted an event. `retry` is after how many seconds it may be published again; 0:
    it would be refused again, or the broker has not said."""

    retry = 0.0


class SubscriptionRefused(BypassError):
    """The broker has not accepted a subscription, or not any more. `retry` is after how many seconds it may
    be asked for again; 0: it would be refused again, or the broker has not said."""

    retry = 0.0


class Unsupported(BypassError):
    """The broker is of a version that does not know what was asked for."""


class OutboxFull(BypassError):
    """So many events wait for the broker's acknowledgement that no more are taken."""

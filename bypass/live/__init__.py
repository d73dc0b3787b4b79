"""Brokers and clients in production: real sockets, real clocks, real places, and a store on disk."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.live.adhoc.datagrams import InvalidGroupKey
    from bypass.live.adhoc.neighbours import Neighbours
    from bypass.live.adhoc.sockets import InvalidInterface
    from bypass.live.client.blocking import BlockingConnection, connect_blocking
    from bypass.live.client.blocking_subscription import BlockingSubscription
    from bypass.live.client.connection import Connection, connect
    from bypass.live.client.errors import (
        ConnectionRefused,
        InvalidArgument,
        InvalidEndpoint,
        NotConnected,
        OutboxFull,
        PublicationRefused,
        SubscriptionRefused,
        Unsupported,
    )
    from bypass.live.client.objects.blocking_matches import BlockingMatch, BlockingMatches
    from bypass.live.client.objects.matches import ObjectMatch, ObjectMatches
    from bypass.live.client.sources.gps import gpsd, nmea
    from bypass.live.client.sources.gpx import gpx
    from bypass.live.client.subscription import LiveSubscription
    from bypass.live.keys import InvalidKeys
    from bypass.ports.local_access import NoSuchRadio
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "BlockingConnection": "bypass.live.client.blocking",
            "BlockingMatch": "bypass.live.client.objects.blocking_matches",
            "BlockingMatches": "bypass.live.client.objects.blocking_matches",
            "BlockingSubscription": "bypass.live.client.blocking_subscription",
            "Connection": "bypass.live.client.connection",
            "ConnectionRefused": "bypass.live.client.errors",
            "InvalidArgument": "bypass.live.client.errors",
            "InvalidEndpoint": "bypass.live.client.errors",
            "InvalidGroupKey": "bypass.live.adhoc.datagrams",
            "InvalidInterface": "bypass.live.adhoc.sockets",
            "InvalidKeys": "bypass.live.keys",
            "LiveSubscription": "bypass.live.client.subscription",
            "Neighbours": "bypass.live.adhoc.neighbours",
            "NoSuchRadio": "bypass.ports.local_access",
            "NotConnected": "bypass.live.client.errors",
            "ObjectMatch": "bypass.live.client.objects.matches",
            "ObjectMatches": "bypass.live.client.objects.matches",
            "OutboxFull": "bypass.live.client.errors",
            "PublicationRefused": "bypass.live.client.errors",
            "SubscriptionRefused": "bypass.live.client.errors",
            "Unsupported": "bypass.live.client.errors",
            "connect": "bypass.live.client.connection",
            "connect_blocking": "bypass.live.client.blocking",
            "gpsd": "bypass.live.client.sources.gps",
            "gpx": "bypass.live.client.sources.gpx",
            "nmea": "bypass.live.client.sources.gps",
        },
    )

__all__ = [
    "BlockingConnection",
    "BlockingMatch",
    "BlockingMatches",
    "BlockingSubscription",
    "Connection",
    "ConnectionRefused",
    "InvalidArgument",
    "InvalidEndpoint",
    "InvalidGroupKey",
    "InvalidInterface",
    "InvalidKeys",
    "LiveSubscription",
    "Neighbours",
    "NoSuchRadio",
    "NotConnected",
    "ObjectMatch",
    "ObjectMatches",
    "OutboxFull",
    "PublicationRefused",
    "SubscriptionRefused",
    "Unsupported",
    "connect",
    "connect_blocking",
    "gpsd",
    "gpx",
    "nmea",
]

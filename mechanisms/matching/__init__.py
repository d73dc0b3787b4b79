"""Matching of attributes: which of many subscriptions accept an event. Brokers alone import it."""

from bypass.mechanisms.matching.base import AttributeMatching

__all__ = ["AttributeMatching"]

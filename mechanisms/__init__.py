"""The exchangeable parts: one package a family, one file a mechanism.

`families` says what families there are; a `Registry` which mechanisms a system may use.
"""

from bypass.mechanisms.registry import Registry

__all__ = ["Registry"]

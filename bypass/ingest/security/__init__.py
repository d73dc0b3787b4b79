"""Suites and standards that protect messages, and tokens by which devices prove who they are."""

"""A mode of your own: devices nearby hear of everything, the broker of all but local events."""

from bypass.mechanisms.modes import ALL, OTHERS, HybridMode


class Whisper(HybridMode):
    by_radio, by_broker = ALL, OTHERS

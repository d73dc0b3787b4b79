"""A transport of your own, with a model of its radio: it reaches far, and is slow."""

from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.radio import RadioModel


class Lora(RadioTransport):
    radio = "lora"
    model = RadioModel(
        reach=800, interference=1000, exponent=3, broadcast_rate=0.05, unicast_rate=0.05, rts=False
    )

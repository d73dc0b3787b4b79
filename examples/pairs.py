"""A parser of your own: `temperature=21.5 level=3`."""

from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.rejection import Rejected


class Pairs(Parser):
    def parse(self, data: bytes, received: int) -> Parsed:
        try:
            pairs = [pair.split("=") for pair in data.decode().split()]
            values = [(name, float(value)) for name, value in pairs]
        except ValueError as error:
            raise Rejected("parse", "pairs", str(error)) from None
        self.check_number(len(values))
        return Parsed(
            None, [self.measurement(received, name, "Double", value, None) for name, value in values]
        )

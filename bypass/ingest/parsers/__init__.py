"""Forms of messages: JSON, Protobuf, CSV, text, CBOR and SenML become measurements."""

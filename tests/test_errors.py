import pickle

from bypass.errors import BypassError, MissingExtra, shown


def test_missing_extra_says_how_to_get_it_and_survives_pickling() -> None:
    error = MissingExtra("matplotlib")
    assert str(error) == "matplotlib is not installed: needs the extra lab: pip install 'bypass-pubsub[lab]'"
    assert isinstance(error, BypassError)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.args == error.args


class Sprawling:
    def __repr__(self) -> str:
        return "first line\n    second line"


def test_values_are_shown_short_and_on_one_line() -> None:
    assert shown(Sprawling()) == "first line second line"
    assert len(shown("x" * 10_000)) < 100
    assert shown("a\nb") == r"'a\nb'"

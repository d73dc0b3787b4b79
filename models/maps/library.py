"""Maps that are found by a name: built in, or in a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from bypass.models.maps.builtin.darmstadt import darmstadt
from bypass.models.maps.builtin.mannheim import mannheim
from bypass.models.maps.builtin.street_grid import street_grid
from bypass.models.maps.files import read_map
from bypass.models.maps.street_map import InvalidMap, StreetMap

MAPS: dict[str, Callable[[], StreetMap]] = {
    "street-grid": street_grid,
    "darmstadt": darmstadt,
    "mannheim": mannheim,
}


def load_map(name: str) -> StreetMap:
    """The built-in map of this name, or the map in the file of this name, which ends in .json.

    Who asks again gets the same object, with all that it has computed, unless the file has changed.
    Raises InvalidMap.
    """
    if name in MAPS:
        return _built_in(name)
    if not name.endswith(".json"):
        raise InvalidMap(
            f"map {name!r} is unknown: expected one of {', '.join(MAPS)}, or a map file that ends in .json"
        )
    path = Path(name).absolute()
    try:
        state = path.stat()
    except OSError as error:
        raise InvalidMap(f"map {name}: {error.strerror}: expected a map file") from None
    return _in_file(path, state.st_mtime_ns, state.st_size)


@lru_cache
def _built_in(name: str) -> StreetMap:
    return MAPS[name]()


@lru_cache(maxsize=4)
def _in_file(path: Path, _mtime_ns: int, _size: int) -> StreetMap:
    return read_map(path)

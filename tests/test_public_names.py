import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bypass
from bypass import errors

HEAVY = {
    "google",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "pyproj",
    "pyspark",
    "scipy",
}


def modules_after(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `code`."""
    probe = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import bypass", "import bypass.scenarios", "import bypass.cli"])
def test_imports_that_must_stay_light_load_nothing_heavy(code: str) -> None:
    assert not modules_after(code) & HEAVY


def test_a_plan_needs_no_compiler_and_no_table_format() -> None:
    loaded = modules_after("from bypass import Event, Plan, attr")
    assert not loaded & {"matplotlib", "numba", "pyarrow", "scipy"}
    assert "pydantic" in loaded


def test_every_public_name_is_there_and_is_the_one_of_its_module() -> None:
    assert len(set(bypass.__all__)) == len(bypass.__all__)
    for name in bypass.__all__:
        value = getattr(bypass, name)
        home = getattr(value, "__module__", None)
        if home is not None and hasattr(value, "__qualname__"):
            assert getattr(sys.modules[home], name) is value


def test_names_are_imported_once() -> None:
    first = bypass.Client
    assert vars(bypass)["Client"] is first


def test_what_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'bypass' has no attribute 'Cleint'"):
        bypass.Cleint  # type: ignore[attr-defined] # noqa: B018


def test_every_error_is_public_and_has_a_public_base() -> None:
    public = {
        value
        for name in bypass.__all__
        if isinstance(value := getattr(bypass, name), type) and issubclass(value, Exception)
    }
    assert {error for error in vars(errors).values() if isinstance(error, type)} <= public
    assert all(issubclass(error, bypass.BypassError) for error in public)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert bypass.__version__ == project["version"]


WITHOUT = """
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {lab!r} else found(name, path, target)
PathFinder.find_spec = find_spec
"""


@pytest.mark.parametrize(
    "code", ["from bypass import *", "from bypass import evaluate", "import bypass; bypass.run"]
)
def test_who_has_not_the_extra_is_told_which(code: str) -> None:
    probe = WITHOUT.format(lab=set(errors.LAB)) + code
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "MissingExtra" in last
    assert "needs the extra lab: pip install 'bypass-pubsub[lab]'" in last


@pytest.mark.parametrize(
    "command", [["run", "total-transitions"], ["sweep", "total-transitions", "--seeds", "1", "--out", "out"]]
)
def test_a_command_that_needs_the_extra_says_so_in_one_line(command: list[str]) -> None:
    probe = WITHOUT.format(lab=set(errors.LAB)) + f"from bypass.cli import main\nmain({command!r})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "needs the extra lab: pip install 'bypass-pubsub[lab]'" in done.stderr

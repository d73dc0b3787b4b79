"""Every example runs and prints what is recorded beside it; README and docs/extending.md show the same files.

After a change that is meant, `python tests/test_examples.py` records anew what examples print, here and in
these pages.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "extending.md"
PACKAGE = EXAMPLES / "bypass-parade"
SHOWN = ("extending.sh", "fair.yaml", "harbour.sh", "harbour.yaml", "elsewhere.sh")
EXTENDING = {EXAMPLES / name for name in (*SHOWN, "own_family.py", "own_storage.py", "own_values.py")}
CLIENTS = {EXAMPLES / name for name in ("live_client.py", "trams.py", "bus_corridor.py")}
"""Programs that live.sh, trams.sh and bus_corridor.sh run."""
MECHANISMS = ("hexagons", "rows", "lowest", "twice", "whisper", "lora", "tuned", "rising", "second_chance")
OTHERS = ("carousel", "stage", "shifts", "crowds", "sqlite_archive", "sqlite_log", "pairs", "roll_call")
USED = {*CLIENTS, *(EXAMPLES / f"{name}.py" for name in (*MECHANISMS, *OTHERS))}
"""Files that other examples run, or the tests of what they show."""
PROGRAMS = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh") and path not in USED)
BLOCK = re.compile(r"(<!-- (examples/\S+) -->\n+```\w*\n)(.*?)```", re.DOTALL)


def printed(program: Path, directory: Path, *arguments: str) -> str:
    """The output of a program, with the time that it took made equal."""
    shutil.copytree(EXAMPLES, directory / "examples")
    interpreter = [sys.executable] if program.suffix == ".py" else ["bash", "-e"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*interpreter, f"examples/{program.name}", *arguments],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    timeless = re.sub(r"(simulated|judged) in [\d.]+ s", r"\1 in 1.0 s", done.stdout)
    return re.sub(r"[\d.]+ million rows/s", "1.0 million rows/s", timeless)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_example_prints_what_is_recorded(program: Path, tmp_path: Path) -> None:
    assert printed(program, tmp_path) == program.with_suffix(".txt").read_text()


def test_the_gallery_is_the_same_without_a_broker(tmp_path: Path) -> None:
    shown = printed(EXAMPLES / "gallery.py", tmp_path, "--without-broker")
    assert shown == (EXAMPLES / "gallery.txt").read_text()


def blocks(page: Path) -> dict[Path, str]:
    return {ROOT / name: text for _, name, text in BLOCK.findall(page.read_text())}


def test_the_readme_shows_the_examples_as_they_are() -> None:
    shown = blocks(README)
    assert shown.keys() >= {*PROGRAMS, *CLIENTS, *EXAMPLES.glob("*.yaml")} - EXTENDING
    for path, text in shown.items():
        assert text == path.read_text(), path


def test_the_page_about_extending_shows_what_extends() -> None:
    shown = blocks(PAGE)
    assert shown.keys() >= {*EXTENDING, *USED, PACKAGE / "pyproject.toml"} - CLIENTS
    for path, text in shown.items():
        assert text == path.read_text(), path


def test_what_a_package_offers_is_found_once_it_is_installed(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "package")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    install = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(tmp_path / "site")]
    subprocess.run([*install, str(tmp_path / "package")], check=True, capture_output=True)
    run = [sys.executable, "-c", "from bypass.cli import main; main()", "run", "package/parade.yaml"]
    for path, code in ((str(tmp_path / "site"), 0), ("", 2)):
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        if code == 0:
            assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["radial", "everybody"]
            assert done.stderr == ""
        else:
            assert "mobility.model is 'parade': expected one of darmstadt" in done.stderr


def record() -> None:
    for program in PROGRAMS:
        with TemporaryDirectory() as directory:
            program.with_suffix(".txt").write_text(printed(program, Path(directory)))
    for page in (README, PAGE):
        page.write_text(
            BLOCK.sub(lambda block: f"{block[1]}{(ROOT / block[2]).read_text()}```", page.read_text())
        )


if __name__ == "__main__":
    record()

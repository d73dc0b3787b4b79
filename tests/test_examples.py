"""Every example runs and prints what is recorded beside it; the README shows the very same files.

After a change that is meant, `python tests/test_examples.py` records anew what examples print, here and in
the README.
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
README = ROOT / "README.md"
CLIENT = EXAMPLES / "live_client.py"  # live.sh runs it
PROGRAMS = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh") and path != CLIENT)
BLOCK = re.compile(r"(<!-- (examples/\S+) -->\n+```\w*\n)(.*?)```", re.DOTALL)


def printed(program: Path, directory: Path) -> str:
    """What a program prints, with the time that it took made equal."""
    shutil.copytree(EXAMPLES, directory / "examples")
    interpreter = [sys.executable] if program.suffix == ".py" else ["bash", "-e"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*interpreter, f"examples/{program.name}"],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    timeless = re.sub(r"(simulated|judged) in [\d.]+ s", r"\1 in 1.0 s", done.stdout)
    return re.sub(r"[\d.]+ million rows/s", "1.0 million rows/s", timeless)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_an_example_prints_what_is_recorded(program: Path, tmp_path: Path) -> None:
    assert printed(program, tmp_path) == program.with_suffix(".txt").read_text()


def test_the_readme_shows_the_examples_as_they_are() -> None:
    blocks = {name: text for _, name, text in BLOCK.findall(README.read_text())}
    assert {ROOT / name for name in blocks} >= {*PROGRAMS, CLIENT, *EXAMPLES.glob("*.yaml")}
    for name, text in blocks.items():
        assert text == (ROOT / name).read_text(), name


def record() -> None:
    for program in PROGRAMS:
        with TemporaryDirectory() as directory:
            program.with_suffix(".txt").write_text(printed(program, Path(directory)))
    shown = BLOCK.sub(lambda block: f"{block[1]}{(ROOT / block[2]).read_text()}```", README.read_text())
    README.write_text(shown)


if __name__ == "__main__":
    record()

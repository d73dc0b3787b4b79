"""Every example runs and prints what is recorded beside it; the README shows the very same files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh"))
BLOCK = re.compile(r"<!-- (examples/\S+) -->\n+```\w*\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_an_example_prints_what_is_recorded(program: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    interpreter = [sys.executable] if program.suffix == ".py" else ["bash", "-e"]
    done = subprocess.run(
        [*interpreter, f"examples/{program.name}"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = re.sub(r"simulated in [\d.]+ s", "simulated in 1.0 s", done.stdout)  # as long as it took
    assert printed == program.with_suffix(".txt").read_text()


def test_the_readme_shows_the_examples_as_they_are() -> None:
    blocks = dict(BLOCK.findall((ROOT / "README.md").read_text()))
    assert {ROOT / name for name in blocks} >= {*PROGRAMS, *EXAMPLES.glob("*.yaml")}
    for name, text in blocks.items():
        assert text == (ROOT / name).read_text(), name

"""What the README shows can be done: its commands parse, its targets exist, its packages agree."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from sim.cli.verbs import VERBS
from sim.toolchain import APT_LINE

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
    for line in block.splitlines()
]
VERB_COMMANDS = [command for command in COMMANDS if "bitwright " in command]
SLOW = ("sim", "demo")


def test_first_screen_has_five_commands():
    first = re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)[0]
    assert len(first.splitlines()) == 5
    assert README[: README.index("```sh")].count("\n") < 20


def test_every_verb_is_in_the_table():
    assert set(re.findall(r"^\| `bitwright (\w+)", README, re.M)) == set(VERBS)


# "make" is also a package, behind g++ in the line for apt-get.
@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?<!g\+\+ )make ([a-z]+)\b", README))))
def test_make_targets_exist(target):
    done = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", ["README.md", "Makefile", ".ci/run"])
def test_one_apt_line_everywhere(file):
    packages = APT_LINE.partition("recommends ")[2]
    assert f"apt-get install -y --no-install-recommends {packages}" in (ROOT / file).read_text()


@pytest.mark.rtl
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, marks=pytest.mark.slow if c.split()[1] in SLOW else ())
        for c in VERB_COMMANDS
    ],
)
def test_commands_run(command, tmp_path, monkeypatch, capsys):
    from sim.cli.app import main

    words = shlex.split(command)[1:]
    words = [str(ROOT / word) if word.endswith(".onnx") else word for word in words]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    assert capsys.readouterr().out

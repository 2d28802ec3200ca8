"""The wheel holds what the tree holds: it is installed into a clean environment and used there."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = (".cpp", ".csv", ".html", ".in", ".onnx", ".v", ".typed")


def call(*command: object, cwd: Path) -> str:
    """Run a command without the variables that would let the tree be found."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel from a copy of the tracked files, so that nothing stray gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    tree = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, tree.stdout.splitlines()):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    call(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, source, cwd=folder)
    return next(folder.glob("bitwright-*.whl"))


@pytest.mark.slow
def test_wheel_holds_modules_and_data(wheel):
    files = set(zipfile.ZipFile(wheel).namelist())
    for package in ("hw", "models", "quant", "sim"):
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".py", *DATA) or path.name == "py.typed":
                assert str(path.relative_to(ROOT)) in files
    assert not [name for name in files if name.startswith(("tests/", "benchmarks/", "notebooks/"))]


@pytest.mark.slow
def test_clean_environment(wheel, tmp_path):
    call(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    code = "import hw, models, quant, sim; print(*[p.__file__ for p in (hw, models, quant, sim)])"
    files = call(python, "-c", code, cwd=tmp_path).split()
    assert len(files) == 4
    assert all(name.startswith(str(tmp_path / "env")) for name in files)
    assert "tiny" in call(tmp_path / "env" / "bin" / "bitwright", "list", cwd=tmp_path)
    assert "torch" not in call(python, "-m", "pip", "list", cwd=tmp_path)

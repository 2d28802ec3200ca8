"""Each notebook opens with a question, runs anywhere without an error, and ends with its answer."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@each
def test_numbered_name(path: Path) -> None:
    assert re.match(r"\d\d_[a-z0-9_]+\.ipynb$", path.name)


@each
def test_opens_with_a_question(path: Path) -> None:
    first = _read(path).cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# [^\n]+\?\n", first.source)


@each
def test_ends_with_its_answer(path: Path) -> None:
    """The last two cells are the answer in prose, and the code that puts the figures in."""
    answer, figures = _read(path).cells[-2:]
    assert (answer.cell_type, figures.cell_type) == ("markdown", "code")
    assert re.match(r"## Answer\n\n(Yes|No)\b", answer.source)


@each
def test_stored_without_outputs(path: Path) -> None:
    for cell in _code(_read(path)):
        assert not cell.outputs
        assert cell.execution_count is None
        assert not cell.metadata


@pytest.mark.rtl
@pytest.mark.slow
@each
def test_runs_and_its_answer_holds(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel sees the tree, as the tests do, and no one's own kernels and settings.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    work = tmp_path / "work"
    work.mkdir()
    notebook = _read(path)
    promised = notebook.cells[-2].source.split("\n\n")[1].split(",")[0]
    NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        resources={"metadata": {"path": str(work)}},
    ).execute()
    outputs = [output for cell in _code(notebook) for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    answer = outputs[-1].data["text/markdown"]
    assert answer.startswith(f"**{promised}.**"), answer
    assert not list(work.iterdir())

"""What all tests share: where real data lies, and that its absence is seen."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Name the folder beside the project as the default data folder, as the Makefile does."""
    if not os.environ.get("BITWRIGHT_DATA") and _BESIDE.is_dir():
        os.environ["BITWRIGHT_DATA"] = str(_BESIDE)


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], Path]:
    """Return a function from the name of a real data set to its folder.

    The calling test is skipped where there is none; it fails where ``BITWRIGHT_REQUIRE_DATA=1``.
    """

    def folder(name: str) -> Path:
        root = os.environ.get("BITWRIGHT_DATA")
        if root and (Path(root) / name).is_dir():
            return Path(root) / name
        reason = f"no real data {name}: BITWRIGHT_DATA is {root or 'not set'}"
        if os.environ.get("BITWRIGHT_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)

    return folder

"""Missing real data is seen: the test skips, or fails where data is required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    ("required", "data", "outcome"),
    [
        ("0", "cora", "1 passed"),
        ("0", "other", "1 skipped"),
        ("1", "other", "1 error"),
        ("1", "cora", "1 passed"),
    ],
)
def test_absence_skips_or_fails(tmp_path, required, data, outcome):
    (tmp_path / "data" / data).mkdir(parents=True)
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    test = "import pytest\n\n@pytest.fixture\ndef cora(data_set):\n    return data_set('cora')\n"
    (tmp_path / "test_x.py").write_text(test + "\ndef test_x(cora):\n    assert cora.is_dir()\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=os.environ
        | {"BITWRIGHT_REQUIRE_DATA": required, "BITWRIGHT_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in done.stdout.splitlines()[-1]
    assert ("no real data cora: BITWRIGHT_DATA is " in done.stdout) == (outcome == "1 error")

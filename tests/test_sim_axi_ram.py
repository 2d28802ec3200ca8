"""The engine on cocotbext-axi's memory: another implementation of AXI judges ours."""

import json
from pathlib import Path

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.lower import lower
from models.golden.gnn.execute import execute
from quant.graph.synthetic import random_gcn
from sim.build import build
from sim.cosim import make_job
from sim.engine import TOP, engine_file

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize(("part_rows", "pause"), [(None, 0.0), (None, 0.3), (9, 0.3)])
def test_engine_on_another_memory(tmp_path: Path, part_rows: int | None, pause: float) -> None:
    config = PRESETS["tiny"]
    graph = random_gcn(20, features=18, hidden=8, corners=("hub", "isolated"), seed=11)
    program = lower(graph, config, "natural", part_rows)
    execution = execute(program)
    image, dump, job = (tmp_path / name for name in ("image.bin", "dump.bin", "job.json"))
    image.write_bytes(program.image.tobytes())
    content = make_job(program, tmp_path / "result.json", cycle_limit=20_000)
    content |= {"image": str(image), "dump": str(dump), "pause": pause}
    content["memory_bytes"] = len(program.image)
    job.write_text(json.dumps(content))
    # Python wakes up in every cycle here, so a fast model would not help; Icarus builds at once.
    engine = build([engine_file(config)], TOP, simulator="icarus")
    engine.run("sim.benches.gnn_axi_ram", tmp_path, environment={"BITWRIGHT_JOB": str(job)})
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["interrupt"], result["status"], result["error"]) == (True, 2, 0)
    np.testing.assert_array_equal(np.fromfile(dump, np.uint8), execution.memory)

"""Remakes the demo's BitGraph: ``python -m benchmarks.make_demo [FILE]``.

Training is repeatable on one machine with one version of its libraries; elsewhere the last bits
of weights and steps may differ, which is why the file is committed whole.
"""

import json
import sys
from pathlib import Path

from quant.gnn.demo import DEMO_PATH
from quant.gnn.quantize import quantize

SEED = 0


def main() -> None:
    """Train A2Q on the generated set ``demo`` and write the file."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else DEMO_PATH
    result = quantize("demo", seed=SEED, out=out, progress=True)
    print(json.dumps({"file": str(out), "bytes": out.stat().st_size, **result.figures()}, indent=1))


if __name__ == "__main__":
    main()

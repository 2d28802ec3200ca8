"""``bitwright quantize``: train, quantize, export; prints both gaps of every run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .output import JsonOption, print_json, print_table, say

if TYPE_CHECKING:
    from quant.gnn.quantize import QuantizeResult

    from ..gaps import IntegerGap

__all__ = ["run"]


def run(
    engine: EngineArgument,
    data: Annotated[str, typer.Option(help="Name of a data set, or a folder.")] = "cora-like",
    method: Annotated[str, typer.Option(help="a2q, or fp32 for the float network.")] = "a2q",
    seed: Annotated[list[int] | None, typer.Option(help="A seed; may stand several times.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the BitGraph is written.")] = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a network, quantize it, export it as a BitGraph; print both gaps."""
    chosen = resolve(engine, preset, config, settings)
    # Loaded here, so that the other verbs need no torch.
    from ..quantize import quantize

    report = quantize(data, method, seed or [0], chosen, out, progress=True)
    if as_json:
        print_json(report.as_dict())
        return
    rows = [_row(run, gap) for run, gap in zip(report.runs, report.gaps, strict=True)]
    first = report.runs[0]
    print_table(f"{first.data} ({first.tier}), {first.method}", _COLUMNS, rows)
    if len(report.runs) > 1:
        print(f"test accuracy {report.test_mean:.2%} +- {report.test_deviation:.2%}")
    if out is not None:
        say(f"BitGraph of seed {report.best.seed} (best on validation)")
        print(out)


_COLUMNS = (
    "seed",
    "epoch",
    "val",
    "test",
    "float test",
    "bits, hidden",
    "bits, all",
    "codes that differ",
    "same class",
)


def _row(run: "QuantizeResult", gap: "IntegerGap | None") -> tuple[object, ...]:
    widths = run.average_widths
    return (
        run.seed,
        run.epoch,
        f"{run.accuracy['val']:.2%}",
        f"{run.accuracy['test']:.2%}",
        f"{run.float_accuracy['test']:.2%}" if run.float_accuracy else "",
        f"{widths.hidden:.2f}" if widths else "32",
        f"{widths.weighted:.2f}" if widths else "32",
        "" if gap is None else f"{gap.mismatch:.3%}",
        "" if gap is None else f"{gap.prediction_agreement:.2%}",
    )

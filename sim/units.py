"""Every unit of the graph engine with arithmetic or a code of its own, and its faces."""

from dataclasses import dataclass

__all__ = ["UNITS", "Unit"]


@dataclass(frozen=True)
class Unit:
    """One unit: where its gates, its golden function, its cost and its stimulus stand.

    Parameters
    ----------
    name : str
        Stem of its files.
    component : str
        Dotted name of the Amaranth component; it is made from `hw.gnn.config.GnnConfig`.
    golden : str or None
        Dotted name of the golden function, or None where a plain list judges the unit.
    cost : str
        Dotted name of the cost class, whose `cycles` is the unit's cycle rule.
    stimulus : str
        The unit's test.
    used_by : str
        The timer or estimate that follows the rule.
    """

    name: str
    component: str
    golden: str | None
    cost: str
    stimulus: str
    used_by: str


def _unit(name: str, golden: str | None, used_by: str) -> Unit:
    stem = "".join(word.capitalize() for word in name.split("_"))
    return Unit(
        name,
        f"hw.gnn.{name}.{stem}",
        golden and f"models.golden.gnn.{golden}",
        f"models.cost.gnn.{name}.{stem}Cost",
        f"tests/test_hw_gnn_{name}.py",
        f"models.cost.gnn.{used_by}",
    )


UNITS: tuple[Unit, ...] = (
    _unit("feature_decoder", "decode.read_features", "groups"),
    _unit("group_assembler", None, "groups"),
    _unit("bit_serial_array", "execute.execute", "combination"),
    _unit("requantizer", "requantizer.requantize", "combination"),
    _unit("edge_decoder", "decode.read_edges", "timing"),
    _unit("scatter_add", "execute.execute", "aggregation"),
    _unit("psum_buffer", "execute.execute", "aggregation"),
    _unit("post_processor", "post_processor.post_process", "aggregation"),
    _unit("feature_encoder", "encode.bitmap_stream", "aggregation"),
    _unit("logit_encoder", "post_processor.post_process", "aggregation"),
)
"""In the order of the data's way through the engine."""

"""Lowers a BitGraph for one config: integers, parts, memory layout and commands.

The result is a Program (`hw.gnn.program`); the words in its image are those of `hw.gnn.format`.
Same graph and config, same bytes.
"""

from hw.gnn.assembly import Assembly
from hw.gnn.config import GnnConfig
from hw.gnn.network import IntegerLayer, integer_layers
from hw.gnn.partition import PartitionMode, part_rows_limit, partition_nodes
from hw.gnn.program import Program
from hw.gnn.ranges import require_at_most
from quant.graph.model import BitGraph

__all__ = ["lower"]


def lower(
    graph: BitGraph,
    config: GnnConfig,
    partition: PartitionMode = "auto",
    part_rows: int | None = None,
) -> Program:
    """Return the Program that computes `graph` on an engine of `config`.

    Parameters
    ----------
    graph : BitGraph
        A chain of GCN layers with edges and features inside.
    config : GnnConfig
    partition : {"auto", "metis", "natural"}
        How nodes are cut into parts where their partial sums do not fit at once.
    part_rows : int or None
        Largest number of rows of a part, smaller than what fits.

    Raises
    ------
    ValueError
        If a value could leave its width, or a buffer cannot hold what it must.
    """
    network = integer_layers(graph, config)
    for index, layer in enumerate(network):
        _check_buffers(index, layer, config)
    columns = max(layer.weights.shape[1] for layer in network)
    limit = part_rows_limit(config, columns, part_rows)
    first = network[0]
    nodes = len(first.width)
    members = partition_nodes(partition, first.source, first.destination, nodes, limit)
    return Assembly(config, network, members).program(graph.hash)


def _check_buffers(index: int, layer: IntegerLayer, config: GnnConfig) -> None:
    """Refuse a layer whose columns or weights the combination engine cannot hold."""
    sizes = config.combination
    reduction, columns = layer.weights.shape
    what = f"columns of layer {index}"
    require_at_most(what, columns, sizes.columns_max, "combination.columns_max")
    stride, tiles = -(-reduction // sizes.lanes), -(-columns // sizes.cols)
    if stride * tiles > sizes.bank_depth:
        need = stride * tiles * sizes.lanes * sizes.word_bytes
        raise ValueError(
            f"weights of layer {index} need {need} bytes ({reduction} x {columns} weights of 4 "
            f"bits in {sizes.lanes} banks), combination.weight_buffer_bytes is "
            f"{sizes.weight_buffer_bytes}"
        )

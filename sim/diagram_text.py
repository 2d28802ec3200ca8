"""The blocks of a design and the streams between them as Markdown."""

from collections.abc import Iterator

from hw.hierarchy import Block

__all__ = ["block_text"]


def block_text(block: Block, heading: str, picture: str) -> str:
    """Return the blocks, their memories and their streams as Markdown.

    Parameters
    ----------
    block : Block
    heading : str
    picture : str
        File of the diagram.
    """
    lines = [
        f"# {heading}",
        "",
        f"![Block diagram]({picture})",
        "",
        "## Blocks",
        "",
        "Instance, class of the component, memories (words x bits).",
        "",
        *_tree(block, 0),
        "",
        "## Streams",
        "",
        "Streams with valid and ready; a bus runs from manager to subordinate.",
        "",
        "| from | to | bits | kind |",
        "|---|---|---|---|",
        *_rows(block, block.name),
    ]
    return "\n".join(lines) + "\n"


def _tree(block: Block, depth: int) -> Iterator[str]:
    memories = ", ".join(
        f"{memory.name} {memory.depth:,} x {memory.width} b" for memory in block.memories
    )
    note = f": {memories}" if memories else ""
    yield f"{'  ' * depth}- {block.name} ({block.kind}){note}"
    for inner in block.blocks:
        yield from _tree(inner, depth + 1)


def _rows(block: Block, path: str) -> Iterator[str]:
    for connection in block.connections:
        ends = [
            f"{path}.{end.instance}.{end.port}" if end.instance else f"{path}.{end.port}"
            for end in (connection.source, connection.target)
        ]
        kind = "AXI" if connection.is_bus else "stream"
        yield f"| {ends[0]} | {ends[1]} | {connection.width} | {kind} |"
    for inner in block.blocks:
        yield from _rows(inner, f"{path}.{inner.name}")

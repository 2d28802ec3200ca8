"""Time of q rows on their way into memory (`hw.gnn.row_writer`)."""

from models.cost.gnn.memory import WriteTimer

__all__ = ["RowWriterTimer"]


class RowWriterTimer:
    """Follow the rows of a command: a row is taken with the last beat of the row before.

    Parameters
    ----------
    row_beats : int
    write : WriteTimer
    """

    def __init__(self, row_beats: int, write: WriteTimer) -> None:
        self._row_beats = row_beats
        self._write = write
        self._token = -1

    def hand(self, offered: int) -> int:
        """Return the cycle in which a row is taken; its beats follow from the next one on."""
        handed = self._token = max(offered, self._token)
        for _ in range(self._row_beats):
            self._token = self._write.take(self._token + 1)
        return handed

    def done(self) -> int:
        """Return the cycle in which all rows are acknowledged."""
        return self._write.done(self._token)

"""Words of a fixed width out of the beats of a request (`hw.beat_slicer`)."""

from models.cost.gnn.read_port import Arrivals

__all__ = ["BeatWords"]


class BeatWords:
    """Words that are taken as they come, one a cycle.

    Parameters
    ----------
    words : int
    beat_width, word_width : int, bits
        Powers of two; either may be the larger one.

    Members
    -------
    pace : int, cycles
        Between one beat taken and the next.
    beats, whole_beats : int
        Beats that bring the words, and those of them in which nothing else follows.
    """

    def __init__(self, words: int, beat_width: int, word_width: int) -> None:
        each = max(1, beat_width // word_width)
        wide = max(1, word_width // beat_width)
        self.pace = each
        self.beats = -(-words // each) * wide
        self.whole_beats = words // each * wide
        self._rest = (words - 1) % each + 1

    def last(self, arrivals: Arrivals) -> int:
        """Return the cycle in which the last word is taken."""
        taken = -1
        for beat in range(self.beats):
            begin = max(taken, arrivals.cycle(beat) - 1)
            taken = begin + (self._rest if beat == self.beats - 1 else self.pace)
        return taken

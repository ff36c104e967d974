"""The cells that tools/formal.py proves, and the faults that it plants to see each proof refuted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A text of rtl/`file` that occurs there once, and what it is replaced by."""

    file: str
    before: str
    after: str


@dataclass(frozen=True)
class Cell:
    """A cell with its wrapper rtl/formal/`name`_formal.sv."""

    name: str
    bound: int  # steps in which no assertion fails, and each planted fault is refuted
    cover: int  # steps in which all covers are reached
    faults: tuple = ()
    parameters: tuple = ()  # NAME=VALUE, of the wrapper
    induction: int = 0  # length of the proof by k-induction; 0: by PDR
    unbounded: bool = True  # else nothing is proven beyond the bound
    known_fault: str = ""  # number of the RTL's known fault that the property shows

    @property
    def top(self):
        """The wrapper's module."""
        return f"{self.name}_formal"


CELLS = [
    Cell(
        "gyre_fifo",
        bound=12,
        cover=12,
        induction=3,
        faults=(
            Fault("common/gyre_fifo.sv", "(head_q == LastPtr) ? '0 : head_q + 1'b1", "head_q + 1'b1"),
            Fault("common/gyre_fifo.sv", "if (push_i != pop_i) level_q", "if (push_i || pop_i) level_q"),
        ),
    ),
]

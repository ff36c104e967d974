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
    Cell("inj_fifo_table", bound=18, cover=20),
    Cell("inj_fifo_table", parameters=("WakeUp=1",), bound=24, cover=20, known_fault="1"),
    Cell(
        "rr_arbiter",
        bound=10,
        cover=10,
        faults=(Fault("common/rr_arbiter.sv", "mask_q <= ~((gnt_o - 1'b1) | gnt_o)", "mask_q <= ~(gnt_o - 1'b1)"),),
    ),
    Cell(
        "lrs_arbiter",
        bound=10,
        cover=10,
        faults=(Fault("common/lrs_arbiter.sv", "older_q[n] & ~gnt_o;", "older_q[n];"),),
    ),
    Cell(
        "age_arbiter",
        bound=8,
        cover=8,
        faults=(
            Fault("common/age_arbiter.sv", "age = now_i - birth_i[n]", "age = ~birth_i[n]"),
            Fault("common/age_arbiter.sv", "if (age == most) oldest[n] = 1'b1", "if (oldest == '0) oldest[n] = 1'b1"),
        ),
    ),
    Cell(
        "credit_counter",
        bound=10,
        cover=10,
        induction=2,
        faults=(
            Fault("common/credit_counter.sv", "W'(give_i) + W'(refund_i);", "W'(give_i || refund_i);"),
        ),
    ),
    Cell(
        "err_select",
        bound=10,
        cover=10,
        faults=(Fault("common/err_select.sv", "err_i[s].valid && !taken_q[s]", "err_i[s].valid"),),
    ),
    Cell(
        "router_errors",
        bound=10,
        cover=10,
        faults=(Fault("router/router_errors.sv", "err_d = err_d | err_i[n]", "err_d = err_i[0]"),),
    ),
    Cell(
        "soft_reset",
        bound=20,
        cover=20,
        faults=(
            Fault("node/soft_reset.sv", "Quiesce: if (quiet_i) begin", "Quiesce: if (1'b1) begin"),
            Fault("node/soft_reset.sv", "CountW'(HoldCycles - 1)", "CountW'(HoldCycles - 2)"),
        ),
    ),
    Cell(
        "inj_occupancy",
        bound=12,
        cover=12,
        induction=2,
        faults=(Fault("node/inj_occupancy.sv", "flits -= CountW'(inj_credit_i[b])", "flits -= CountW'(inj_credit_i != '0)"),),
    ),
]

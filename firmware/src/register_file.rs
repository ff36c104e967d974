//! Test double: a register file that stores what is written, with plantable faults.

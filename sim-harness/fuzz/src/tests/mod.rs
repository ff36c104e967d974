//! Tests of cases and campaigns on the RTL.

mod campaign;
mod wires;

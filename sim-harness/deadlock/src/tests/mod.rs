//! Tests of whole machines, and of machines with a rule broken.

mod torus;
mod tree;

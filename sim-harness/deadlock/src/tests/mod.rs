// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of whole machines, and of machines with a rule broken.

mod torus;
mod tree;

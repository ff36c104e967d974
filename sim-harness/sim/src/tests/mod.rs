// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of whole machines with software on them.

mod collective;
mod common;
mod errors;
mod faults;
mod machine;
mod recovery;
mod routers;
mod software;
mod trace;
mod traffic;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints of a geometry that live on one node and work together in its memory (HW-7, EP-8).

pub(crate) mod memory;
pub(crate) mod neighbours;
pub(crate) mod segment;
pub(crate) mod sharing;
pub(crate) mod steps;
pub(crate) mod turns;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Selection of algorithms (EP-8): lists, conditions and the choice.

pub(crate) mod choose;
pub(crate) mod condition;
mod configured;
mod defaults;
pub(crate) mod entry;
pub(crate) mod lists;

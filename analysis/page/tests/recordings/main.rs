// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings made by hand: their timelines, the reasons for their time, and their pages.

mod page;
mod spool;
mod timeline;
mod why;

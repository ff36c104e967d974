// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library that `gyre exec` loads before every program, and libfabric as a provider: `libgyre-fi.so`.
//!
//! It exports the functions of the provider, of PAMI and of the C library (`gyre-interpose`). A program finds all of them here first, even
//! if it is linked with `libpami.so`, so that the process has one state and one connection to the machine.

extern crate fi as _;
extern crate pami as _;

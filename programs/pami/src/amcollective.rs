// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active-message collectives: only the root calls, at any time; the others take part by functions that they have set.
//!
//! Calls go down a binomial tree of the geometry's endpoints, and answers go up (`calls`). The data travels in messages of the
//! driver, eager or by rendezvous, between contiguous memory of the library. The root's parameters become a call in `root`; the
//! functions of the endpoints are called in `own_part`.

pub mod call;
pub mod calls;
pub mod dispatch_set;
pub mod messages;
pub mod own_part;
pub mod part;
pub mod receiver;
pub mod root;
pub mod tree;

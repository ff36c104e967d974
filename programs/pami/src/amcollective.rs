//! Active-message collectives: the root alone calls, at any time, and the others take part by functions that they have set.
//!
//! Calls go down a binomial tree of the geometry's endpoints, and answers come up (`calls`). The data travels in messages of
//! the driver, eager or by rendezvous, from and to memory of the library, where it has no holes. What the root's program
//! says becomes a call in `root`; what the others' say, in `own`.

pub mod call;
pub mod calls;
pub mod dispatch_set;
pub mod messages;
pub mod own_part;
pub mod part;
pub mod receiver;
pub mod root;
pub mod tree;

//! The collective network (HW-5, HW-9): routes of the node, and what a context does on them.

pub(crate) mod routes;
pub(crate) mod state;
pub(crate) mod transfers;

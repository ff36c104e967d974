//! Remote memory access: puts, gets, read-modify-writes and fences (EP-4, FN).

pub(crate) mod fence;
pub(crate) mod gets;
pub(crate) mod start;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that several commands take.

use gyre::settings::Setting;
use gyre_driver::SameNode;

/// Path of messages between tasks of one node.
pub(crate) const SAME_NODE: Setting<SameNode> = Setting::choice(
    "same_node",
    SameNode::Loopback,
    "loopback or shared_memory",
    "messages between ranks of one node: through the DMA engine, or by processor copies in shared memory",
);

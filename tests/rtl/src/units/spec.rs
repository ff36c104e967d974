// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of units under test.

/// A top module with its parameters.
pub(super) struct Spec {
    /// Name that a test asks for.
    pub(super) name: &'static str,
    /// Top module.
    pub(super) top: &'static str,
    /// Parameters of the top module.
    pub(super) parameters: &'static [(&'static str, u32)],
    /// Folders of `rtl/` that it is made of; a change elsewhere does not rebuild it.
    pub(super) folders: &'static [&'static str],
    /// Faults planted in it.
    pub(super) faults: &'static [Fault],
}

/// A fault planted in the RTL of a unit. The assertions of the file are left out with it: its surroundings have to
/// notice.
pub(super) struct Fault {
    /// File in `rtl/`.
    pub(super) file: &'static str,
    /// Text that stands there exactly once.
    pub(super) text: &'static str,
    /// Text that replaces it.
    pub(super) instead: &'static str,
}

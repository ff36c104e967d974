// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control word of one direction of a link.

use crate::LayoutError;

/// State of a link unit: two bits a port in `LINK_STATUS`, `link_ctl_e` in SystemVerilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LinkState {
    /// Disabled or in reset.
    Reset = 0,
    /// Enabled, waits for its peer.
    Init = 1,
    /// Has seen its peer, credits are full.
    Ack = 2,
    /// Flits flow.
    Up = 3,
}

impl LinkState {
    /// Every value, in order of its code.
    pub const ALL: &[Self] = &[Self::Reset, Self::Init, Self::Ack, Self::Up];

    /// State of the link unit of `port` (0..10) in a value of `LINK_STATUS`.
    #[must_use]
    pub const fn of_port(link_status: u64, port: u32) -> Self {
        match (link_status >> (2 * port)) & 3 {
            0 => Self::Reset,
            1 => Self::Init,
            2 => Self::Ack,
            _ => Self::Up,
        }
    }
}

impl TryFrom<u8> for LinkState {
    type Error = LayoutError;
    fn try_from(code: u8) -> Result<Self, LayoutError> {
        Self::ALL
            .get(usize::from(code))
            .copied()
            .ok_or(LayoutError::Code {
                field: "ctl",
                value: code,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_state_of_a_port() {
        assert_eq!(LinkState::of_port(0b11_01_10_00, 0), LinkState::Reset);
        assert_eq!(LinkState::of_port(0b11_01_10_00, 1), LinkState::Ack);
        assert_eq!(LinkState::of_port(0b11_01_10_00, 3), LinkState::Up);
        assert!(LinkState::try_from(4).is_err());
    }
}

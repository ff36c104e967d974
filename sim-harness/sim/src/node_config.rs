// SPDX-License-Identifier: MIT OR Apache-2.0
//! Micro-architecture of a node: parameters of the RTL that a machine may set.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check_range};

/// Which of several packets the router serves first, where neither class nor a packet under way decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arbiter {
    /// The oldest in the network.
    Age,
    /// Each in turn.
    RoundRobin,
}

impl Arbiter {
    /// Its names, in order, for messages.
    pub const NAMES: &str = "age or round_robin";

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::RoundRobin => "round_robin",
        }
    }
}

impl Display for Arbiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arbiter {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Age, Self::RoundRobin]
            .into_iter()
            .find(|arbiter| arbiter.name() == text)
            .ok_or(())
    }
}

/// Micro-architecture of every node. What is none is as the RTL has it; each combination is a model of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeConfig {
    /// Flits of a link input's buffer, which all its virtual channels share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_flits: Option<u64>,
    /// Flits of an injection buffer, of each link and class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_flits: Option<u64>,
    /// Dynamic virtual channels of a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u64>,
    /// Order in which the router serves packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<Arbiter>,
    /// AXI masters through which the DMA engine reaches memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_ports: Option<u64>,
}

impl NodeConfig {
    /// Values of [`NodeConfig::port_flits`]: reserves of the deterministic channels and two packets at least.
    pub const PORT_FLITS: RangeInclusive<u64> = 116..=1023;
    /// Values of [`NodeConfig::inject_flits`]: a packet at least.
    pub const INJECT_FLITS: RangeInclusive<u64> = 34..=1023;
    /// Values of [`NodeConfig::lanes`].
    pub const LANES: RangeInclusive<u64> = 1..=4;
    /// Values of [`NodeConfig::memory_ports`].
    pub const MEMORY_PORTS: [u64; 3] = [1, 2, 4];
    /// Flits of an injection buffer as the RTL has it.
    const OWN_INJECT_FLITS: u64 = 136;

    /// Checks every field for a model of `dims` dimensions.
    pub(crate) fn validate(&self, dims: usize) -> Result<(), ConfigError> {
        for (field, value, range) in [
            ("node.port_flits", self.port_flits, Self::PORT_FLITS),
            ("node.inject_flits", self.inject_flits, Self::INJECT_FLITS),
            ("node.lanes", self.lanes, Self::LANES),
        ] {
            if let Some(value) = value {
                check_range(field, value, range)?;
            }
        }
        let Some(ports) = self.memory_ports else {
            return Ok(());
        };
        // A beat of memory feeds the flits of four links.
        let fits = |&&wanted: &&u64| 4 * wanted >= 2 * dims as u64;
        let accepted: Vec<u64> = Self::MEMORY_PORTS.iter().filter(fits).copied().collect();
        if accepted.contains(&ports) {
            return Ok(());
        }
        let words: Vec<String> = accepted.iter().map(u64::to_string).collect();
        let expected = format!("{}, to feed {} links", words.join(" or "), 2 * dims);
        Err(ConfigError::new("node.memory_ports", ports, expected))
    }

    /// The same for routers and links alone.
    pub(crate) fn of_network(&self) -> Self {
        Self {
            memory_ports: None,
            ..self.clone()
        }
    }

    /// Flits of an injection buffer.
    pub(crate) fn injection(&self) -> u64 {
        self.inject_flits.unwrap_or(Self::OWN_INJECT_FLITS)
    }

    /// AXI masters of a node of `dims` dimensions.
    pub(crate) fn masters(&self, dims: usize) -> u64 {
        self.memory_ports.unwrap_or(match dims {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 4,
        })
    }

    /// Parameters of the RTL that are set, by name.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, u64)> {
        let by_age = self
            .arbiter
            .map(|arbiter| u64::from(arbiter == Arbiter::Age));
        [
            ("PortFlits", self.port_flits),
            ("InjDepth", self.inject_flits),
            ("Lanes", self.lanes),
            ("ByAge", by_age),
            ("NAxi", self.memory_ports),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// What is set, for the name of a model; empty where nothing is.
    pub(crate) fn suffix(&self) -> String {
        let numbers = [
            ("port", self.port_flits),
            ("inject", self.inject_flits),
            ("lanes", self.lanes),
            ("memory", self.memory_ports),
        ];
        let numbers = numbers
            .into_iter()
            .filter_map(|(name, value)| Some(format!("_{name}{}", value?)));
        let arbiter = self.arbiter.map(|arbiter| format!("_{arbiter}"));
        numbers.chain(arbiter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_values_that_no_node_has_are_refused_by_field() {
        let error = |node: NodeConfig, dims| node.validate(dims).expect_err("refused").to_string();
        let buffer = NodeConfig {
            port_flits: Some(100),
            ..NodeConfig::default()
        };
        assert_eq!(
            error(buffer, 3),
            "node.port_flits = 100: expected 116 to 1023"
        );
        let lanes = NodeConfig {
            lanes: Some(5),
            ..NodeConfig::default()
        };
        assert_eq!(error(lanes, 3), "node.lanes = 5: expected 1 to 4");
        let memory = |ports| NodeConfig {
            memory_ports: Some(ports),
            ..NodeConfig::default()
        };
        assert_eq!(
            error(memory(1), 3),
            "node.memory_ports = 1: expected 2 or 4, to feed 6 links"
        );
        assert_eq!(
            error(memory(3), 5),
            "node.memory_ports = 3: expected 4, to feed 10 links"
        );
        memory(2).validate(3).expect("accepted");
    }

    #[test]
    fn x7_what_is_set_is_a_parameter_of_the_rtl_and_in_the_name_of_the_model() {
        let node = NodeConfig {
            port_flits: Some(170),
            arbiter: Some(Arbiter::RoundRobin),
            memory_ports: Some(4),
            ..NodeConfig::default()
        };
        assert_eq!(node.suffix(), "_port170_memory4_round_robin");
        let set = [("PortFlits", 170), ("ByAge", 0), ("NAxi", 4)];
        assert_eq!(node.parameters(), set);
        assert_eq!(node.of_network().parameters(), set[..2]);
        assert_eq!(NodeConfig::default().suffix(), "");
    }
}

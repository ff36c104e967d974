// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration of the acknowledgement dispatcher (AK-5).

use serde::Deserialize;

/// When messages are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckMethod {
    /// In the next iteration, one packet for each.
    Immediate,
    /// When the iteration counter reaches the threshold, one packet for each (AK-1, AK-2).
    Threshold,
    /// When the iteration counter reaches the threshold, those to one destination together (AK-3).
    Coalesce,
    /// As [`Coalesce`](Self::Coalesce), and also by the rules when a message arrives (AK-4).
    #[default]
    OnArrival,
}

/// Which acknowledgements a coalescing rule puts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Together {
    /// Acknowledgements to one recipient.
    Recipient,
    /// Acknowledgements to recipients on one network path: one packet goes to the farthest and leaves a copy at every
    /// other. It joins recipients only where every node on the way has one, and the copies then reach all of
    /// them by the reception FIFO of the same number: contexts of one offset, in processes of one number.
    Path,
}

/// A rule for coalescing on arrival (AK-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoalescingRule {
    /// Acknowledgements that may share a packet.
    pub together: Together,
    /// Number of messages, with the arriving one, that make a packet at once; at least 1.
    #[serde(default = "CoalescingRule::default_minimum_group")]
    pub minimum_group: u32,
    /// Iterations after which a message is acknowledged with its group, however small; at least 1.
    #[serde(default = "CoalescingRule::default_maximum_age")]
    pub maximum_age: u32,
}

impl CoalescingRule {
    const fn default_minimum_group() -> u32 {
        16
    }

    const fn default_maximum_age() -> u32 {
        256
    }
}

impl Default for CoalescingRule {
    /// One recipient, groups of 16, at most 256 iterations old.
    fn default() -> Self {
        Self {
            together: Together::Recipient,
            minimum_group: Self::default_minimum_group(),
            maximum_age: Self::default_maximum_age(),
        }
    }
}

/// How a dispatcher works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AckConfig {
    /// When messages are acknowledged.
    pub method: AckMethod,
    /// Iterations without a new message after which all messages are processed; at least 1. Not used by
    /// [`AckMethod::Immediate`].
    pub threshold: u32,
    /// Rules of [`AckMethod::OnArrival`]: the first that lets an arrival join others acknowledges them.
    pub rules: Vec<CoalescingRule>,
}

impl Default for AckConfig {
    /// Coalescing on arrival by the default rule, threshold 8.
    fn default() -> Self {
        Self {
            method: AckMethod::OnArrival,
            threshold: 8,
            rules: vec![CoalescingRule::default()],
        }
    }
}

impl AckConfig {
    /// One packet for each message, at once: the baseline for the dispatcher (AK-6).
    #[must_use]
    pub fn immediate() -> Self {
        Self {
            method: AckMethod::Immediate,
            ..Self::default()
        }
    }

    /// The path rule alone: recipients on one path share a packet once `minimum_group` have joined (AK-4).
    #[must_use]
    pub fn by_path(minimum_group: u32) -> Self {
        Self {
            rules: vec![CoalescingRule {
                together: Together::Path,
                minimum_group,
                ..CoalescingRule::default()
            }],
            ..Self::default()
        }
    }

    /// Whether acknowledgements may travel as copies of packets to others.
    pub(crate) fn copies(&self) -> bool {
        let path = |rule: &CoalescingRule| rule.together == Together::Path;
        self.method == AckMethod::OnArrival && self.rules.iter().any(path)
    }

    /// Refuses 0 where it is not allowed.
    ///
    /// # Errors
    /// [`AckConfigError`].
    pub(crate) fn check(&self) -> Result<(), AckConfigError> {
        let at_least_1 = |field, value| match value {
            0 => Err(AckConfigError::Value { field }),
            _ => Ok(()),
        };
        at_least_1("threshold", self.threshold)?;
        for rule in &self.rules {
            at_least_1("minimum_group", rule.minimum_group)?;
            at_least_1("maximum_age", rule.maximum_age)?;
        }
        Ok(())
    }
}

/// An acknowledgement configuration that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AckConfigError {
    /// A field is 0 that must not be.
    #[error("{field} of the acknowledgement dispatcher is 0, expected at least 1")]
    Value {
        /// Field of [`AckConfig`] or [`CoalescingRule`].
        field: &'static str,
    },
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated times in messages.

use core::fmt;

/// A time in picoseconds, shown exactly in the largest unit of which it has one or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadableTime(pub u64);

impl fmt::Display for ReadableTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] = [
            ("s", 1_000_000_000_000),
            ("ms", 1_000_000_000),
            ("us", 1_000_000),
            ("ns", 1_000),
            ("ps", 1),
        ];
        let found = UNITS.into_iter().find(|&(_, ps)| self.0 >= ps);
        let (unit, ps) = found.unwrap_or(("ps", 1));
        write!(f, "{}", self.0 / ps)?;
        if !self.0.is_multiple_of(ps) {
            let digits = ps.ilog10() as usize;
            let fraction = format!("{:0digits$}", self.0 % ps);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        write!(f, " {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_exactly_in_a_unit_that_fits() {
        for (ps, text) in [
            (0, "0 ps"),
            (999, "999 ps"),
            (1000, "1 ns"),
            (30_999_875, "30.999875 us"),
            (641_500_365_750, "641.50036575 ms"),
            (1_000_000_000_001, "1.000000000001 s"),
            (u64::MAX, "18446744.073709551615 s"),
        ] {
            assert_eq!(ReadableTime(ps).to_string(), text);
        }
    }
}

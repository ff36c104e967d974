// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of machines that stand still: who waits for what.

use std::fmt;

/// An actor that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalledActor {
    /// Node.
    pub node: usize,
    /// Name.
    pub name: String,
    /// Its time when it began to wait, picoseconds.
    pub since_ps: u64,
    /// Reason of the wait.
    pub waits_for: String,
    /// Its own words for it; may be empty.
    pub description: String,
}

/// A node with work left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalledNode {
    /// Node.
    pub node: usize,
    /// Whether its hardware says that nothing will change without input.
    pub idle: bool,
    /// Reads that memory has not answered.
    pub reads_open: u32,
    /// Writes that memory has not answered.
    pub writes_open: u32,
    /// Registers that show work left or errors, with their values, in words.
    pub registers: Vec<String>,
}

/// Waiting actors and nodes of a machine that stands still.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallReport {
    /// Cycle.
    pub cycle: u64,
    /// Last cycle in which something useful happened: a flit was sent, the hardware wrote memory, or an actor or its
    /// computation ended. 0 if that never was.
    pub last_progress: u64,
    /// Actors that have not ended, by node.
    pub actors: Vec<StalledActor>,
    /// Nodes with work left.
    pub nodes: Vec<StalledNode>,
}

/// Lines of a list that are shown; reports of large machines are cut.
const SHOWN: usize = 40;

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cycle, last) = (self.cycle, self.last_progress);
        writeln!(f, "cycle {cycle}, last progress in cycle {last}:")?;
        for actor in self.actors.iter().take(SHOWN) {
            write!(
                f,
                "  node {} {}: since {} ps waits for {}",
                actor.node, actor.name, actor.since_ps, actor.waits_for
            )?;
            if !actor.description.is_empty() {
                write!(f, " ({})", actor.description)?;
            }
            writeln!(f)?;
        }
        if let Some(more) = self.actors.len().checked_sub(SHOWN + 1) {
            writeln!(f, "  and {} more actors", more + 1)?;
        }
        for node in self.nodes.iter().take(SHOWN) {
            writeln!(
                f,
                "  node {}: hardware {}, {} memory reads and {} writes open",
                node.node,
                if node.idle { "idle" } else { "busy" },
                node.reads_open,
                node.writes_open
            )?;
            for register in &node.registers {
                writeln!(f, "    {register}")?;
            }
        }
        if let Some(more) = self.nodes.len().checked_sub(SHOWN + 1) {
            writeln!(f, "  and {} more nodes", more + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_names_actors_and_their_words_and_says_what_it_cuts() {
        let actor = |node| StalledActor {
            node,
            name: "rank".to_owned(),
            since_ps: 10,
            waits_for: "wake-up lines 0x1".to_owned(),
            description: "recv from 3".to_owned(),
        };
        let report = StallReport {
            cycle: 7,
            last_progress: 3,
            actors: (0..42).map(actor).collect(),
            nodes: Vec::new(),
        };
        let text = report.to_string();
        assert!(
            text.contains("node 39 rank: since 10 ps waits for wake-up lines 0x1 (recv from 3)")
        );
        assert!(text.contains("and 2 more actors") && !text.contains("node 40"));
    }
}

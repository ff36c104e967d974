// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a program as GOAL text.

use std::fmt::{self, Display, Formatter};

use crate::program::{ANY_TAG, Dependency, Op, OpKind, Program, RankProgram};

/// The statement without its label; attributes are written when they differ from the default 0.
impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let interface = match self.kind {
            OpKind::Send {
                bytes,
                to,
                tag,
                nic,
            } => {
                write!(f, "send {bytes}b to {to}")?;
                match tag {
                    0 => {}
                    ANY_TAG => write!(f, " tag -1")?,
                    tag => write!(f, " tag {tag}")?,
                }
                nic
            }
            OpKind::Recv {
                bytes,
                from,
                tag,
                nic,
            } => {
                write!(f, "recv {bytes}b from ")?;
                match from {
                    Some(from) => write!(f, "{from}")?,
                    None => write!(f, "-1")?,
                }
                match tag {
                    Some(0) => {}
                    Some(tag) => write!(f, " tag {tag}")?,
                    None => write!(f, " tag -1")?,
                }
                nic
            }
            OpKind::Calc { ns } => {
                write!(f, "calc {ns}")?;
                0
            }
        };
        if self.cpu != 0 {
            write!(f, " cpu {}", self.cpu)?;
        }
        if interface != 0 {
            write!(f, " nic {interface}")?;
        }
        Ok(())
    }
}

/// The `rank` block: all operations, labelled `l1`, `l2`, ..., then all dependencies.
impl Display for RankProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "rank {} {{", self.rank())?;
        for (op, number) in self.ops().iter().zip(1u64..) {
            writeln!(f, "l{number}: {op}")?;
        }
        for op in self.op_ids() {
            for (dependency, word) in [
                (Dependency::Requires, "requires"),
                (Dependency::Irequires, "irequires"),
            ] {
                for on in self.dependencies(op, dependency) {
                    writeln!(
                        f,
                        "l{} {word} l{}",
                        u64::from(op.0) + 1,
                        u64::from(on.0) + 1
                    )?;
                }
            }
        }
        writeln!(f, "}}")
    }
}

/// The whole text; [`parse`](crate::parse) reads it back as an equal program.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "num_ranks {}", self.ranks().len())?;
        for rank in self.ranks() {
            write!(f, "\n{rank}")?;
        }
        Ok(())
    }
}

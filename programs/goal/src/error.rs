// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a text is no GOAL program that can run.

use std::path::PathBuf;

use miette::{Diagnostic, SourceSpan};
use thiserror::Error;

use crate::excerpt::{Excerpt, position};

/// Reason of a [`ParseError`], at the place that it names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Reason {
    /// The file is longer than can be counted in 32 bits.
    #[error("the file has {bytes} bytes, at most {} can be read", u32::MAX)]
    TooLarge {
        /// Size of the file in bytes.
        bytes: usize,
    },
    /// A token of another kind is needed here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Expected text.
        expected: &'static str,
        /// Text found.
        found: String,
    },
    /// The first word of a statement is none that GOAL knows.
    #[error(
        "unknown statement {found}, expected `send`, `recv`, `calc`, `LABEL requires LABEL`, \
         `LABEL irequires LABEL` or `}}`"
    )]
    UnknownStatement {
        /// Text found.
        found: String,
    },
    /// More text on the line of a complete statement.
    #[error("expected the end of the line after the statement, found {found}")]
    Junk {
        /// Text found.
        found: String,
    },
    /// A size without its unit.
    #[error("expected the unit `b` after the number of bytes, found {found}")]
    MissingUnit {
        /// Text found.
        found: String,
    },
    /// Not a decimal number.
    #[error("{found} is no {what}, expected a decimal number")]
    BadNumber {
        /// Subject.
        what: &'static str,
        /// Text found.
        found: String,
    },
    /// A number that its place does not allow.
    #[error("{what} {found} is out of range, expected {min} to {max}")]
    NumberOutOfRange {
        /// Subject.
        what: &'static str,
        /// Text found.
        found: String,
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// A tag of more than 64 bits, or below -1.
    #[error(
        "tag {found} is out of range, expected 0 to {}, or -1 for any",
        u64::MAX
    )]
    TagOutOfRange {
        /// Text found.
        found: String,
    },
    /// `rank` defines a rank that `num_ranks` does not allow.
    #[error("rank {found} is out of range: `num_ranks {num_ranks}` allows 0 to {}", num_ranks - 1)]
    RankOutOfRange {
        /// Text found.
        found: String,
        /// Number of ranks of the program.
        num_ranks: u32,
    },
    /// A source or destination that is no rank of the program.
    #[error("peer {found} is out of range: `num_ranks {num_ranks}` allows 0 to {}", num_ranks - 1)]
    PeerOutOfRange {
        /// Text found.
        found: String,
        /// Number of ranks of the program.
        num_ranks: u32,
    },
    /// `-1` as destination of a send.
    #[error("a send cannot have a wildcard destination: `-1` is for receives")]
    WildcardSend,
    /// A second `num_ranks`.
    #[error("`num_ranks` is given twice, first in line {first_line}")]
    RepeatedHeader {
        /// Line of the first one, from 1.
        first_line: u32,
    },
    /// A second block for the same rank.
    #[error("rank {rank} is defined twice, first in line {first_line}")]
    RepeatedRank {
        /// The rank.
        rank: u32,
        /// Line of the first one, from 1.
        first_line: u32,
    },
    /// Ranks without a block.
    #[error("`num_ranks {num_ranks}`, but ranks are missing ({missing}): {list}")]
    MissingRanks {
        /// Number of ranks of the program.
        num_ranks: u32,
        /// How many.
        missing: u32,
        /// The first of them.
        list: String,
    },
    /// A rank block without its `}`.
    #[error("rank {rank}, opened in line {opened_line}, is not closed: expected `}}`")]
    UnclosedRank {
        /// The rank.
        rank: u32,
        /// Line of its `rank` statement, from 1.
        opened_line: u32,
    },
    /// A `}` outside of a rank block.
    #[error("`}}` without a rank to close")]
    UnmatchedBrace,
    /// A `/*` without `*/`.
    #[error("comment is not closed: expected `*/`")]
    UnterminatedComment,
    /// A word that is no label where one is needed.
    #[error("{found} is no label, expected a letter, then letters, digits or `_`")]
    BadLabel {
        /// Text found.
        found: String,
    },
    /// A label that names two operations of a rank.
    #[error("label `{label}` is defined twice in rank {rank}, first in line {first_line}")]
    DuplicateLabel {
        /// The label.
        label: String,
        /// The rank.
        rank: u32,
        /// Line of the first one, from 1.
        first_line: u32,
    },
    /// A label that names no operation of this rank.
    #[error("label `{label}` is not defined in rank {rank}")]
    UndefinedLabel {
        /// The label.
        label: String,
        /// The rank.
        rank: u32,
    },
    /// A label whose operation stands further down.
    #[error(
        "label `{label}` is used before its definition in line {defined_line}: \
         state the dependency after both operations"
    )]
    LabelUsedEarly {
        /// The label.
        label: String,
        /// Line of its definition, from 1.
        defined_line: u32,
    },
    /// An operation that waits for itself.
    #[error("`{label}` depends on itself and could never start")]
    SelfDependency {
        /// The label.
        label: String,
    },
    /// Operations that wait for each other.
    #[error("dependency cycle, none of its {operations} operations can ever start: {}", path.join(" -> "))]
    DependencyCycle {
        /// How many operations.
        operations: usize,
        /// Labels: each operation waits for the next one, and the first stands at the end again.
        /// Of a long cycle only the beginning is named, and `...` stands for the rest.
        path: Vec<String>,
    },
    /// An attribute given twice.
    #[error("attribute `{attribute}` is given twice")]
    RepeatedAttribute {
        /// The attribute.
        attribute: &'static str,
    },
    /// Attributes in the wrong order.
    #[error(
        "attribute `{attribute}` must stand before `{after}`: the order is `tag`, `cpu`, `nic`"
    )]
    AttributeOrder {
        /// The attribute.
        attribute: &'static str,
        /// The attribute that must stand behind it.
        after: &'static str,
    },
    /// An attribute that only messages have.
    #[error("`calc` has no attribute `{attribute}`, only `cpu`")]
    AttributeOnCalc {
        /// The attribute.
        attribute: &'static str,
    },
    /// A sum over the program that does not fit 64 bits.
    #[error("the {what} of the program add up to more than {}", u64::MAX)]
    TotalTooLarge {
        /// Subject.
        what: &'static str,
    },
    /// Messages and receives that cannot all match.
    #[error("{0}")]
    Unbalanced(crate::balance::Imbalance),
}

impl Reason {
    fn help(&self) -> Option<&'static str> {
        match self {
            Self::UndefinedLabel { .. } => Some("labels are local to their rank"),
            Self::Unbalanced(_) => Some("every message needs exactly one receive that matches it"),
            Self::Junk { .. } => {
                Some("one statement a line, attributes in the order tag, cpu, nic")
            }
            _ => None,
        }
    }
}

/// A text that was refused, with the place and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {reason}")]
pub struct ParseError {
    /// Name of the file, as given to [`parse`](crate::parse).
    pub file: String,
    /// Line of the offending token, from 1.
    pub line: usize,
    /// Column of the offending token in characters, from 1.
    pub column: usize,
    /// Reason, with the expectation.
    pub reason: Reason,
    excerpt: Excerpt,
    span: SourceSpan,
}

impl ParseError {
    /// An error about bytes `start..end` of `text`.
    pub(crate) fn new(
        file: &str,
        text: &[u8],
        start: usize,
        end: usize,
        reason: Reason,
    ) -> Box<Self> {
        let (line, column) = position(text, start);
        let (excerpt, span) = Excerpt::new(file, text, start, end);
        Box::new(Self {
            file: file.to_owned(),
            line,
            column,
            reason,
            excerpt,
            span,
        })
    }
}

impl Diagnostic for ParseError {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.reason.help().map(|help| Box::new(help) as Box<_>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let label = miette::LabeledSpan::new_primary_with_span(Some("here".to_owned()), self.span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// A file that gave no program.
#[derive(Debug, Error, Diagnostic)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file was read and refused.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Parse(Box<ParseError>),
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the GOAL text format.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::balance;
use crate::build::RankBuilder;
use crate::error::{LoadError, ParseError, Reason};
use crate::lexer::{Lexer, Token, TokenKind, UnterminatedComment};
use crate::program::{Cut, OpId, Program, RankProgram};

mod statement;
mod value;

/// Reads a program from `text`; `file` names it in errors.
///
/// # Errors
/// [`ParseError`] with line, column and [`Reason`] for everything that is not a program that can
/// run: syntax, numbers, labels, dependency cycles, ranks without definition, and messages that
/// certainly no receive matches.
pub fn parse(file: &str, text: &[u8]) -> Result<Program, Box<ParseError>> {
    let error = |(start, end, reason)| ParseError::new(file, text, start, end, reason);
    // Everything is counted in 32 bits, and nothing is more frequent than bytes.
    if u32::try_from(text.len()).is_err() {
        let bytes = text.len();
        return Err(error((0, 0, Reason::TooLarge { bytes })));
    }
    let mut parser = Parser::new(text);
    let program = parser.program().map_err(error)?;
    balance::check(&program).map_err(|imbalance| {
        let line = parser.imbalance_line(&program, &imbalance);
        error(parser.at_line(line, Reason::Unbalanced(imbalance)))
    })?;
    Ok(program)
}

/// Reads a program from a file.
///
/// # Errors
/// [`LoadError`] if the file cannot be read or is refused by [`parse`].
pub fn parse_file(path: &Path) -> Result<Program, LoadError> {
    let text = gyre_files::keep(path).and_then(|()| gyre_files::read(path, u32::MAX.into()));
    let text = text.map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })?;
    // A name may hold anything; it is shown with the program.
    let name: String = path.display().to_string();
    let name = name.chars().map(|c| match c.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => c,
    });
    parse(&name.collect::<String>(), &text).map_err(LoadError::Parse)
}

/// A reason and the bytes it is about.
type Refusal = (usize, usize, Reason);

/// A label's operation and the line that defines it.
#[derive(Debug, Clone, Copy)]
struct Definition {
    op: OpId,
    line: u32,
}

/// The rank whose block is being read.
#[derive(Debug)]
struct OpenRank<'a> {
    rank: u32,
    opened_line: u32,
    builder: RankBuilder,
    labels: HashMap<&'a [u8], Definition>,
}

#[derive(Debug)]
struct Parser<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    num_ranks: u32,
    /// Lines of the `rank` statements.
    rank_lines: BTreeMap<u32, u32>,
    /// Sums over the program, kept to refuse what would overflow later.
    total_bytes: u64,
    total_ns: u64,
    cuts: Vec<Cut>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            lexer: Lexer::new(text),
            num_ranks: 0,
            rank_lines: BTreeMap::new(),
            total_bytes: 0,
            total_ns: 0,
            cuts: Vec::new(),
        }
    }

    /// `num_ranks INT`, then the ranks in any order.
    fn program(&mut self) -> Result<Program, Refusal> {
        self.skip_to_statement()?;
        self.keyword("num_ranks", "`num_ranks`")?;
        let header_line = self.lexer.line();
        let count = self.word("the number of ranks")?;
        self.num_ranks = self.number(count, "number of ranks", 1, u32::MAX.into())? as u32;
        self.end_statement()?;

        let mut ranks = BTreeMap::new();
        loop {
            self.skip_to_statement()?;
            let token = self.lexer.peek();
            match (token.kind, self.lexer.bytes(token)) {
                (TokenKind::EndOfFile, _) => break,
                (TokenKind::Word, b"rank") => {
                    let rank = self.rank()?;
                    ranks.insert(rank.rank(), rank);
                }
                (TokenKind::Word, b"num_ranks") => {
                    let first_line = header_line;
                    return refuse(token, Reason::RepeatedHeader { first_line });
                }
                (TokenKind::CloseBrace, _) => return refuse(token, Reason::UnmatchedBrace),
                _ => return Err(self.unexpected(token, "`rank`")),
            }
        }
        self.check_missing(count, &ranks)?;
        let cuts = std::mem::take(&mut self.cuts);
        Ok(Program::new(ranks.into_values().collect()).with_cuts(cuts))
    }

    fn check_missing(
        &self,
        count: Token,
        ranks: &BTreeMap<u32, RankProgram>,
    ) -> Result<(), Refusal> {
        const LISTED: usize = 8;
        let num_ranks = self.num_ranks;
        let missing = num_ranks - ranks.len() as u32;
        if missing == 0 {
            return Ok(());
        }
        let absent = (0..num_ranks).filter(|r| !ranks.contains_key(r));
        let mut list: Vec<_> = absent.take(LISTED).map(|r| r.to_string()).collect();
        if missing as usize > LISTED {
            list.push("...".to_owned());
        }
        let list = list.join(", ");
        let reason = Reason::MissingRanks {
            num_ranks,
            missing,
            list,
        };
        refuse(count, reason)
    }

    /// `rank INT {`, statements, `}`.
    fn rank(&mut self) -> Result<RankProgram, Refusal> {
        let opened_line = self.lexer.line();
        let keyword = self.word("`rank`")?;
        let number = self.word("a rank number")?;
        let rank = self.rank_number(number)?;
        if let Some(&first_line) = self.rank_lines.get(&rank) {
            return refuse(number, Reason::RepeatedRank { rank, first_line });
        }
        self.rank_lines.insert(rank, opened_line);
        let brace = self.lexer.peek();
        if brace.kind != TokenKind::OpenBrace {
            return Err(self.unexpected(brace, "`{`"));
        }
        self.lexer.pass(brace);
        let mut open = OpenRank {
            rank,
            opened_line,
            builder: RankBuilder::new(rank),
            labels: HashMap::new(),
        };
        loop {
            self.skip_to_statement()?;
            let token = self.lexer.peek();
            match token.kind {
                TokenKind::CloseBrace => {
                    self.lexer.pass(token);
                    self.end_statement()?;
                    return self.close(open);
                }
                TokenKind::EndOfFile => {
                    return refuse(keyword, Reason::UnclosedRank { rank, opened_line });
                }
                TokenKind::Word => self.statement(&mut open, token)?,
                _ => return Err(self.unexpected(token, "a statement or `}`")),
            }
        }
    }

    fn close(&self, open: OpenRank<'a>) -> Result<RankProgram, Refusal> {
        const LISTED: usize = 12;
        let OpenRank {
            builder, labels, ..
        } = open;
        builder.build().map_err(|cycle| {
            // Operations in a cycle have labels, as dependencies can name nothing else.
            let names: BTreeMap<OpId, &[u8]> = labels.iter().map(|(l, d)| (d.op, *l)).collect();
            let shown = cycle.ops.iter().take(LISTED);
            let mut path: Vec<_> = shown.map(|op| plain(names[op])).collect();
            if cycle.ops.len() > LISTED {
                path.push("...".to_owned());
            }
            path.push(path[0].clone());
            let operations = cycle.ops.len();
            let reason = Reason::DependencyCycle { operations, path };
            self.at_line(cycle.line, reason)
        })
    }

    fn skip_to_statement(&mut self) -> Result<(), Refusal> {
        self.lexer.skip_to_statement().map_err(unterminated)
    }

    fn end_statement(&mut self) -> Result<(), Refusal> {
        match self.lexer.end_statement().map_err(unterminated)? {
            None => Ok(()),
            Some(token) => refuse(
                token,
                Reason::Junk {
                    found: self.show(token),
                },
            ),
        }
    }

    /// The statement on a line, for what is found wrong only after the text was read.
    fn at_line(&self, line: u32, reason: Reason) -> Refusal {
        let skipped = (line as usize).saturating_sub(1);
        let mut lines = self.text.split(|&b| b == b'\n');
        let start: usize = lines.by_ref().take(skipped).map(|l| l.len() + 1).sum();
        let content = lines.next().unwrap_or_default();
        let indent = content.len() - content.trim_ascii_start().len();
        let end = start + content.trim_ascii_end().len();
        (start + indent, end.max(start + indent), reason)
    }

    /// The line to blame for an imbalance: that of the operation, or of the `rank` statement.
    fn imbalance_line(&self, program: &Program, imbalance: &balance::Imbalance) -> u32 {
        let (rank, op) = imbalance.place();
        let line = op.and_then(|op| program.ranks()[rank as usize].line(op));
        line.or_else(|| self.rank_lines.get(&rank).copied())
            .unwrap_or(1)
    }
}

fn refuse<T>(token: Token, reason: Reason) -> Result<T, Refusal> {
    Err((token.start, token.end, reason))
}

fn unterminated(UnterminatedComment(start): UnterminatedComment) -> Refusal {
    (start, start + 2, Reason::UnterminatedComment)
}

/// Text for an error message, cut if long.
fn plain(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

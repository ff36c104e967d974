// SPDX-License-Identifier: MIT OR Apache-2.0
//! The statements within a rank.

use super::value::is_label;
use super::{Definition, OpenRank, Parser, Refusal, plain, refuse};
use crate::error::Reason;
use crate::lexer::{Token, TokenKind};
use crate::program::{ANY_TAG, Dependency, Op, OpId, OpKind};

/// Attributes in the order in which they must stand.
const ATTRIBUTES: [&str; 3] = ["tag", "cpu", "nic"];
const TAG: usize = 0;
const CPU: usize = 1;

/// The values of a statement's attributes.
#[derive(Debug, Clone, Copy)]
struct Attributes {
    /// `None` for any tag.
    tag: Option<u32>,
    cpu: u8,
    nic: u8,
}

impl<'a> Parser<'a> {
    /// One statement and its line end; `first` is its first word.
    pub(super) fn statement(
        &mut self,
        open: &mut OpenRank<'a>,
        first: Token,
    ) -> Result<(), Refusal> {
        let line = self.lexer.line();
        self.lexer.pass(first);
        let second = self.lexer.peek();
        if second.kind == TokenKind::Colon {
            self.lexer.pass(second);
            self.define_label(open, first, line)?;
            let keyword = self.word("`send`, `recv` or `calc` after the label")?;
            self.operation(open, keyword, line)?;
        } else if let Some(dependency) = dependency_kind(self.lexer.bytes(second)) {
            self.lexer.pass(second);
            self.dependency(open, first, dependency, line)?;
        } else if open.labels.contains_key(self.lexer.bytes(first)) {
            return Err(self.unexpected(second, "`requires` or `irequires` after the label"));
        } else {
            self.operation(open, first, line)?;
        }
        self.end_statement()
    }

    fn define_label(
        &mut self,
        open: &mut OpenRank<'a>,
        token: Token,
        line: u32,
    ) -> Result<(), Refusal> {
        let label = self.label(token)?;
        let op = open.builder.next_id();
        match open.labels.insert(label, Definition { op, line }) {
            None => Ok(()),
            Some(first) => refuse(
                token,
                Reason::DuplicateLabel {
                    label: plain(label),
                    rank: open.rank,
                    first_line: first.line,
                },
            ),
        }
    }

    fn label(&self, token: Token) -> Result<&'a [u8], Refusal> {
        let word = self.lexer.bytes(token);
        if is_label(word) {
            return Ok(word);
        }
        let found = self.show(token);
        refuse(token, Reason::BadLabel { found })
    }

    fn dependency(
        &mut self,
        open: &mut OpenRank<'a>,
        first: Token,
        dependency: Dependency,
        line: u32,
    ) -> Result<(), Refusal> {
        let op = self.labelled(open, first)?;
        let second = self.word("the label of an operation")?;
        let on = self.labelled(open, second)?;
        if op == on {
            let label = plain(self.lexer.bytes(second));
            return refuse(second, Reason::SelfDependency { label });
        }
        open.builder.depend_at(op, dependency, on, line);
        Ok(())
    }

    /// The operation that a label of this rank names.
    fn labelled(&self, open: &OpenRank<'a>, token: Token) -> Result<OpId, Refusal> {
        let label = self.label(token)?;
        if let Some(definition) = open.labels.get(label) {
            return Ok(definition.op);
        }
        let (label, rank) = (plain(label), open.rank);
        refuse(
            token,
            match self.defined_later(token) {
                Some(defined_line) => Reason::LabelUsedEarly {
                    label,
                    defined_line,
                },
                None => Reason::UndefinedLabel { label, rank },
            },
        )
    }

    /// The line further down in the same rank that defines the label `token`.
    fn defined_later(&self, token: Token) -> Option<u32> {
        let mut ahead = self.lexer.clone();
        loop {
            let word = ahead.peek();
            match word.kind {
                TokenKind::CloseBrace | TokenKind::EndOfFile => return None,
                TokenKind::EndOfLine | TokenKind::Comment => ahead.skip_to_statement().ok()?,
                _ => {
                    ahead.pass(word);
                    let is_it = ahead.bytes(word) == self.lexer.bytes(token);
                    if is_it && ahead.peek().kind == TokenKind::Colon {
                        return Some(ahead.line());
                    }
                }
            }
        }
    }

    /// `send`, `recv` or `calc`, from behind its keyword to its last attribute.
    fn operation(
        &mut self,
        open: &mut OpenRank<'a>,
        keyword: Token,
        line: u32,
    ) -> Result<(), Refusal> {
        let op = match self.lexer.bytes(keyword) {
            b"send" => self.send(keyword)?,
            b"recv" => self.recv()?,
            b"calc" => self.calc(keyword)?,
            b"rank" => {
                let (rank, opened_line) = (open.rank, open.opened_line);
                return refuse(keyword, Reason::UnclosedRank { rank, opened_line });
            }
            _ => {
                let found = self.show(keyword);
                return refuse(keyword, Reason::UnknownStatement { found });
            }
        };
        open.builder.op_at(op, line);
        Ok(())
    }

    fn send(&mut self, keyword: Token) -> Result<Op, Refusal> {
        let bytes = self.byte_count()?;
        self.keyword("to", "`to`")?;
        let peer = self.word("the destination rank")?;
        let to = self.destination(peer)?;
        let attributes = self.attributes(true)?;
        let tag = attributes.tag.unwrap_or(ANY_TAG);
        let what = "message sizes";
        self.total_bytes = add(self.total_bytes, bytes, keyword, what)?;
        let nic = attributes.nic;
        let kind = OpKind::Send {
            bytes,
            to,
            tag,
            nic,
        };
        Ok(Op {
            kind,
            cpu: attributes.cpu,
        })
    }

    fn recv(&mut self) -> Result<Op, Refusal> {
        let bytes = self.byte_count()?;
        self.keyword("from", "`from`")?;
        let peer = self.word("the source rank, or -1 for any")?;
        let from = self.source(peer)?;
        let Attributes { tag, cpu, nic, .. } = self.attributes(true)?;
        let kind = OpKind::Recv {
            bytes,
            from,
            tag,
            nic,
        };
        Ok(Op { kind, cpu })
    }

    fn calc(&mut self, keyword: Token) -> Result<Op, Refusal> {
        let token = self.word("a number of nanoseconds")?;
        let ns = self.number(token, "number of nanoseconds", 0, u64::MAX)?;
        let Attributes { cpu, .. } = self.attributes(false)?;
        self.total_ns = add(self.total_ns, ns, keyword, "calc times")?;
        let kind = OpKind::Calc { ns };
        Ok(Op { kind, cpu })
    }

    /// `[tag INT|-1] [cpu INT] [nic INT]`; only `cpu` unless the operation is a `message`.
    fn attributes(&mut self, message: bool) -> Result<Attributes, Refusal> {
        let mut attributes = Attributes {
            tag: Some(0),
            cpu: 0,
            nic: 0,
        };
        let mut seen = [false; ATTRIBUTES.len()];
        loop {
            let name = self.lexer.peek();
            let known = ATTRIBUTES.map(str::as_bytes);
            let found = known.iter().position(|a| *a == self.lexer.bytes(name));
            let Some(index) = found else {
                return Ok(attributes);
            };
            check_attribute(name, index, &mut seen, message)?;
            self.lexer.pass(name);
            let value = self.word("the value of the attribute")?;
            match index {
                TAG => attributes.tag = self.tag(value)?,
                // The low bits.
                CPU => attributes.cpu = self.low_bits(value, "cpu", u8::BITS)? as u8,
                _ => attributes.nic = self.low_bits(value, "nic", u8::BITS)? as u8,
            }
        }
    }
}

/// Refuses an attribute that does not belong to the statement, or not here.
fn check_attribute(
    name: Token,
    index: usize,
    seen: &mut [bool; ATTRIBUTES.len()],
    message: bool,
) -> Result<(), Refusal> {
    let attribute = ATTRIBUTES[index];
    if !message && index != CPU {
        return refuse(name, Reason::AttributeOnCalc { attribute });
    }
    if seen[index] {
        return refuse(name, Reason::RepeatedAttribute { attribute });
    }
    if let Some(later) = (index..ATTRIBUTES.len()).find(|&i| seen[i]) {
        let after = ATTRIBUTES[later];
        return refuse(name, Reason::AttributeOrder { attribute, after });
    }
    seen[index] = true;
    Ok(())
}

fn dependency_kind(word: &[u8]) -> Option<Dependency> {
    match word {
        b"requires" => Some(Dependency::Requires),
        b"irequires" => Some(Dependency::Irequires),
        _ => None,
    }
}

fn add(total: u64, more: u64, token: Token, what: &'static str) -> Result<u64, Refusal> {
    match total.checked_add(more) {
        Some(sum) => Ok(sum),
        None => refuse(token, Reason::TotalTooLarge { what }),
    }
}

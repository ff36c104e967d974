// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words, numbers, ranks, tags and labels.

use super::{Parser, Refusal, plain, refuse};
use crate::error::Reason;
use crate::lexer::{Token, TokenKind};
use crate::program::{ANY_TAG, Cut};

impl Parser<'_> {
    /// The next token, which must be a word; passes it.
    pub(super) fn word(&mut self, expected: &'static str) -> Result<Token, Refusal> {
        let token = self.lexer.peek();
        if token.kind != TokenKind::Word {
            return Err(self.unexpected(token, expected));
        }
        self.lexer.pass(token);
        Ok(token)
    }

    /// The next token, which must be this word; passes it.
    pub(super) fn keyword(
        &mut self,
        keyword: &'static str,
        expected: &'static str,
    ) -> Result<Token, Refusal> {
        let token = self.lexer.peek();
        if self.lexer.bytes(token) != keyword.as_bytes() {
            return Err(self.unexpected(token, expected));
        }
        self.lexer.pass(token);
        Ok(token)
    }

    pub(super) fn unexpected(&self, token: Token, expected: &'static str) -> Refusal {
        let found = self.show(token);
        (
            token.start,
            token.end,
            Reason::Unexpected { expected, found },
        )
    }

    /// A token as error messages name it.
    pub(super) fn show(&self, token: Token) -> String {
        match token.kind {
            TokenKind::EndOfFile => "the end of the file".to_owned(),
            TokenKind::EndOfLine => "the end of the line".to_owned(),
            TokenKind::Comment => "a comment".to_owned(),
            _ => format!("`{}`", plain(self.lexer.bytes(token))),
        }
    }

    /// An unsigned decimal number from `min` to `max`.
    pub(super) fn number(
        &self,
        token: Token,
        what: &'static str,
        min: u64,
        max: u64,
    ) -> Result<u64, Refusal> {
        let found = || self.show(token);
        let number = decimal(self.lexer.bytes(token));
        match number {
            Decimal::None => refuse(
                token,
                Reason::BadNumber {
                    what,
                    found: found(),
                },
            ),
            Decimal::Number(n) if (min..=max).contains(&n) => Ok(n),
            _ => refuse(
                token,
                Reason::NumberOutOfRange {
                    what,
                    found: found(),
                    min,
                    max,
                },
            ),
        }
    }

    /// `INT b`, blanks between the two or not.
    pub(super) fn byte_count(&mut self) -> Result<u64, Refusal> {
        const WHAT: &str = "number of bytes";
        let token = self.word("a number of bytes")?;
        let bytes = self.lexer.bytes(token);
        let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let split = token.start + digits;
        let number = Token {
            end: split,
            ..token
        };
        match &bytes[digits..] {
            b"b" => {}
            // Digits only: the unit is the next word.
            [] => {
                let unit = self.lexer.peek();
                if self.lexer.bytes(unit) != b"b" {
                    let found = self.show(unit);
                    return refuse(unit, Reason::MissingUnit { found });
                }
                self.lexer.pass(unit);
            }
            _ if digits == 0 => {
                let found = self.show(token);
                return refuse(token, Reason::BadNumber { what: WHAT, found });
            }
            _ => {
                let unit = Token {
                    start: split,
                    ..token
                };
                let found = self.show(unit);
                return refuse(unit, Reason::MissingUnit { found });
            }
        }
        self.number(number, WHAT, 0, u64::MAX)
    }

    /// The number of the rank that a `rank` statement defines.
    pub(super) fn rank_number(&self, token: Token) -> Result<u32, Refusal> {
        let num_ranks = self.num_ranks;
        self.rank_below(token, "rank number", |found| Reason::RankOutOfRange {
            found,
            num_ranks,
        })
    }

    /// The destination of a send.
    pub(super) fn destination(&self, token: Token) -> Result<u32, Refusal> {
        if self.lexer.bytes(token) == b"-1" {
            return refuse(token, Reason::WildcardSend);
        }
        let num_ranks = self.num_ranks;
        self.rank_below(token, "rank number", |found| Reason::PeerOutOfRange {
            found,
            num_ranks,
        })
    }

    /// The source of a receive, `None` for any.
    pub(super) fn source(&self, token: Token) -> Result<Option<u32>, Refusal> {
        match self.lexer.bytes(token) {
            b"-1" => Ok(None),
            _ => self.destination(token).map(Some),
        }
    }

    fn rank_below(
        &self,
        token: Token,
        what: &'static str,
        reason: impl FnOnce(String) -> Reason,
    ) -> Result<u32, Refusal> {
        match decimal(self.lexer.bytes(token)) {
            Decimal::Number(n) if n < u64::from(self.num_ranks) => Ok(n as u32),
            Decimal::None => {
                let found = self.show(token);
                refuse(token, Reason::BadNumber { what, found })
            }
            _ => refuse(token, reason(plain(self.lexer.bytes(token)))),
        }
    }

    /// A number of which the low `bits` bits count; notes that it was cut.
    pub(super) fn low_bits(
        &mut self,
        token: Token,
        attribute: &'static str,
        bits: u32,
    ) -> Result<u64, Refusal> {
        let number = self.number(token, attribute, 0, u64::MAX)?;
        let low = number & ((1 << bits) - 1);
        if low != number {
            let line = self.lexer.line();
            match self.cuts.iter_mut().find(|cut| cut.attribute == attribute) {
                Some(cut) => cut.count += 1,
                None => self.cuts.push(Cut {
                    attribute,
                    bits,
                    count: 1,
                    line,
                }),
            }
        }
        Ok(low)
    }

    /// A tag, `None` for `-1` and for what is the same in 32 bits.
    pub(super) fn tag(&mut self, token: Token) -> Result<Option<u32>, Refusal> {
        let bytes = self.lexer.bytes(token);
        match decimal(bytes) {
            _ if bytes == b"-1" => Ok(None),
            Decimal::Number(_) => {
                // The low bits.
                let tag = self.low_bits(token, "tag", u32::BITS)? as u32;
                Ok(Some(tag).filter(|&tag| tag != ANY_TAG))
            }
            Decimal::None if !is_negative(bytes) => {
                let found = self.show(token);
                refuse(token, Reason::BadNumber { what: "tag", found })
            }
            _ => {
                let found = plain(bytes);
                refuse(token, Reason::TagOutOfRange { found })
            }
        }
    }
}

/// Whether a word has the form of a label.
pub(super) fn is_label(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic)
        && word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn is_negative(word: &[u8]) -> bool {
    matches!(word, [b'-', digits @ ..] if !matches!(decimal(digits), Decimal::None))
}

enum Decimal {
    /// Not a run of decimal digits.
    None,
    Number(u64),
    /// More than 64 bits.
    Overflow,
}

fn decimal(word: &[u8]) -> Decimal {
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return Decimal::None;
    }
    let value = word.iter().try_fold(0u64, |n, digit| {
        n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    value.map_or(Decimal::Overflow, Decimal::Number)
}

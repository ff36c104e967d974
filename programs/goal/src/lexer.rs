// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts GOAL text into words, on bytes and without copying.

/// Token at a place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A run of anything but blanks, braces, colons and comments.
    Word,
    Colon,
    OpenBrace,
    CloseBrace,
    Comment,
    EndOfLine,
    EndOfFile,
}

/// A token and its place: bytes `start..end` of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A `/*` at this byte that no `*/` follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnterminatedComment(pub(crate) usize);

/// A cursor over the text.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The line of the next token, from 1.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, token: Token) -> &'a [u8] {
        &self.text[token.start..token.end]
    }

    /// The next token of this line, without passing it.
    pub(crate) fn peek(&self) -> Token {
        let rest = &self.text[self.at..];
        let blanks = rest.iter().take_while(|b| is_blank(**b)).count();
        let (start, rest) = (self.at + blanks, &rest[blanks..]);
        let (kind, length) = match rest {
            [] => (TokenKind::EndOfFile, 0),
            [b'\n', ..] => (TokenKind::EndOfLine, 1),
            [b'\r', b'\n', ..] => (TokenKind::EndOfLine, 2),
            [b':', ..] => (TokenKind::Colon, 1),
            [b'{', ..] => (TokenKind::OpenBrace, 1),
            [b'}', ..] => (TokenKind::CloseBrace, 1),
            [b'/', b'/' | b'*', ..] => (TokenKind::Comment, 2),
            _ => (TokenKind::Word, word_length(rest)),
        };
        Token {
            kind,
            start,
            end: start + length,
        }
    }

    /// Passes a token. Line ends are passed by [`skip_to_statement`](Self::skip_to_statement) and
    /// [`end_statement`](Self::end_statement) only.
    pub(crate) fn pass(&mut self, token: Token) {
        self.at = token.end;
    }

    /// Skips blanks, line ends and comments up to where a statement may start.
    pub(crate) fn skip_to_statement(&mut self) -> Result<(), UnterminatedComment> {
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::EndOfLine => self.pass_line_end(token),
                TokenKind::Comment => self.pass_comment(token)?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips comments and the line end behind a statement; the token that stands in the way
    /// otherwise.
    pub(crate) fn end_statement(&mut self) -> Result<Option<Token>, UnterminatedComment> {
        let line = self.line;
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::EndOfFile => return Ok(None),
                TokenKind::EndOfLine => {
                    self.pass_line_end(token);
                    return Ok(None);
                }
                TokenKind::Comment => self.pass_comment(token)?,
                _ if self.line > line => return Ok(None),
                _ => return Ok(Some(token)),
            }
        }
    }

    fn pass_line_end(&mut self, token: Token) {
        self.at = token.end;
        self.line += 1;
    }

    fn pass_comment(&mut self, opening: Token) -> Result<(), UnterminatedComment> {
        let body = &self.text[opening.end..];
        if self.bytes(opening) == b"//" {
            let length = body.iter().position(|&b| b == b'\n');
            self.at = opening.end + length.unwrap_or(body.len());
            return Ok(());
        }
        let closing = body.windows(2).position(|w| w == b"*/");
        let length = closing.ok_or(UnterminatedComment(opening.start))?;
        let newlines = body[..length].iter().filter(|b| **b == b'\n').count();
        self.line += newlines as u32;
        self.at = opening.end + length + 2;
        Ok(())
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// How long the word at the start of `rest` is: at least one byte, so that a stray byte is a word
/// and is refused where it stands.
fn word_length(rest: &[u8]) -> usize {
    let ends = |i: usize| match rest[i] {
        b' ' | b'\t' | b'\n' | b':' | b'{' | b'}' => true,
        b'\r' => rest.get(i + 1) == Some(&b'\n'),
        b'/' => matches!(rest.get(i + 1), Some(b'/' | b'*')),
        _ => false,
    };
    (1..rest.len()).find(|&i| ends(i)).unwrap_or(rest.len())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few lines of source text around an error, kept so that a report can show them without
//! holding a file of hundreds of megabytes.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Bytes kept on either side of the offending token at most.
const REACH: usize = 240;

/// Part of a source file, cleaned for display: invalid UTF-8 and control characters are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    name: String,
    text: String,
    first_line: usize,
    first_column: usize,
}

impl Excerpt {
    /// Cuts the surroundings of `start..end` out of `source`, and says where that range lies in
    /// the result.
    pub(crate) fn new(name: &str, source: &[u8], start: usize, end: usize) -> (Self, SourceSpan) {
        let end = end.min(start + REACH).min(source.len());
        let reach = start.saturating_sub(REACH);
        let line_start = start_of_line(source, start);
        let context_start = start_of_line(source, line_start.saturating_sub(1)).max(reach);
        let after = &source[end..source.len().min(end + REACH)];
        let mut line_ends = after.iter().enumerate().filter(|(_, b)| **b == b'\n');
        let context_end = end + line_ends.nth(1).map_or(after.len(), |(i, _)| i);

        let mut text = clean(&source[context_start..start]);
        let span_start = text.len();
        text.push_str(&clean(&source[start..end]));
        let span_end = text.len();
        text.push_str(&clean(&source[end..context_end]));

        let (line, column) = position(source, context_start);
        let excerpt = Self {
            name: name.to_owned(),
            text,
            first_line: line - 1,
            first_column: column - 1,
        };
        (excerpt, (span_start, span_end - span_start).into())
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let inner = self
            .text
            .read_span(span, context_lines_before, context_lines_after)?;
        let column = match inner.line() {
            0 => inner.column() + self.first_column,
            _ => inner.column(),
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            inner.data(),
            *inner.span(),
            inner.line() + self.first_line,
            column,
            inner.line_count(),
        )))
    }
}

/// Line and column of a byte, both from 1; the column counts characters.
pub(crate) fn position(source: &[u8], at: usize) -> (usize, usize) {
    let line_start = start_of_line(source, at);
    let line = 1 + source[..line_start].iter().filter(|b| **b == b'\n').count();
    let column = 1 + String::from_utf8_lossy(&source[line_start..at])
        .chars()
        .count();
    (line, column)
}

/// Where the line that holds byte `at` starts.
fn start_of_line(source: &[u8], at: usize) -> usize {
    let before = source[..at].iter().rposition(|&b| b == b'\n');
    before.map_or(0, |newline| newline + 1)
}

fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let visible = text.chars().filter(|&c| c != '\r').map(|c| match c {
        '\n' | '\t' => c,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    });
    visible.collect()
}

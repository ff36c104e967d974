// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standard output and standard error of a command.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

/// Whether a character steers a terminal, turns the direction of a line, or is not seen.
fn steers(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        _ => c.is_control(),
    }
}

/// A text without the characters that steer a terminal, each of which is shown as it is written in Rust.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Characters of a line of an error, at most.
const LINE: usize = 1000;

/// Lines of an error, at most.
const LINES: usize = 100;

/// The text of an error in which long lines are cut, and many.
#[must_use]
pub fn short(text: &str) -> Cow<'_, str> {
    let is_long = |line: &str| line.len() > LINE && line.chars().nth(LINE).is_some();
    let more = text.lines().count().saturating_sub(LINES);
    if more == 0 && !text.lines().any(is_long) {
        return Cow::Borrowed(text);
    }
    let mut lines = text.lines().take(LINES).map(|line| match is_long(line) {
        true => {
            let rest = line.chars().count() - LINE;
            let begin: String = line.chars().take(LINE).collect();
            Cow::Owned(format!("{begin}... and {rest} characters more"))
        }
        false => Cow::Borrowed(line),
    });
    let mut shown = Vec::from_iter(&mut lines).join("\n");
    if more > 0 {
        shown += &format!("\n... and {more} lines more");
    }
    Cow::Owned(shown)
}

/// Writes `gyre: ` and `what`, shortened, to standard error. If that fails, the exit status alone tells of the error.
pub fn complain(what: std::fmt::Arguments<'_>) {
    let what = what.to_string();
    let _ = writeln!(io::stderr().lock(), "gyre: {}", plain(&short(&what)));
}

/// Writes `text` to standard output and returns `status`. A reader that has gone is no error; any other failure to
/// write is status 1.
pub fn print(text: &str, status: ExitCode) -> ExitCode {
    let mut output = io::stdout().lock();
    match output
        .write_all(plain(text).as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(format_args!("standard output: {error}"));
            ExitCode::from(1)
        }
        _ => status,
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, LINES, plain, short};

    #[test]
    fn x5_errors_are_cut_where_they_are_long() {
        assert_eq!(short("a\nb"), "a\nb");
        let begin = "x".repeat(LINE);
        let cut = format!("a\n{begin}... and 2 characters more");
        assert_eq!(short(&format!("a\n{begin}yz")), cut);
        let lines = "l\n".repeat(LINES);
        assert_eq!(short(&lines), lines);
        let cut = short(&format!("{lines}m\nn")).into_owned();
        assert!(cut.ends_with("l\n... and 2 lines more"), "{cut}");
    }

    #[test]
    fn x5_control_characters_are_shown_not_sent() {
        assert_eq!(plain("a\tb\nc \u{e9}"), "a\tb\nc \u{e9}");
        assert_eq!(
            plain("a\u{1b}[2Jb\r\u{7}\u{9b}"),
            "a\\u{1b}[2Jb\\r\\u{7}\\u{9b}"
        );
        assert_eq!(plain("a\u{202e}b\u{feff}"), "a\\u{202e}b\\u{feff}");
    }
}

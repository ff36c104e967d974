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

/// Writes `gyre: ` and `what` to standard error. If that fails, the exit status alone tells of the error.
pub fn complain(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "gyre: {}", plain(&what.to_string()));
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
    use super::plain;

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

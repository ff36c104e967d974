// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of words in a waveform: activity of a run, beside the signals.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};

/// Scope of the rows.
const SCOPE: &str = "message";

/// A row of words. In the waveform it is a vector of ASCII characters, the last in the lowest byte: VCD has no strings, and
/// every reader shows such a vector as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name in the scope `message`.
    pub name: String,
    /// From when on it shows which word, in the order of time, in the waveform's unit of time. An empty one is shown as a space.
    pub changes: Vec<(u64, String)>,
}

impl Row {
    /// Its name with its scope.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{SCOPE}.{}", self.name)
    }

    /// Bits of its vector.
    #[must_use]
    pub fn width(&self) -> usize {
        let words = self.changes.iter().map(|(_, word)| word.len());
        8 * words.max().unwrap_or(0).max(1)
    }

    fn declaration(&self, code: &str) -> String {
        let width = self.width();
        let name = &self.name;
        format!("  $var wire {width} {code} {name} [{}:0] $end\n", width - 1)
    }
}

/// A signal as a waveform declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its bits.
    pub width: u32,
    /// Its range, such as `[31:0]`; empty without one.
    pub range: String,
}

/// A VCD waveform with rows in it, as a reader of one without gives it. Notes on the way which of the signals that are
/// asked for there are, and the times of the waveform. Rows show what they show from the waveform's first time to its last.
#[derive(Debug)]
pub struct WithRows<R> {
    inner: R,
    rows: Vec<RowState>,
    wanted: BTreeSet<String>,
    declared: BTreeMap<String, Declared>,
    in_header: bool,
    path: String,
    /// Characters of the longest identifier.
    longest: usize,
    /// The scope that is looked into, and the signals of the nearest scope around it that there is.
    looked: String,
    found: Vec<(String, Declared)>,
    /// By length of its path: the signals of each scope around that, and of itself.
    around: BTreeMap<usize, Vec<(String, Declared)>>,
    first: Option<u64>,
    last: u64,
    line: Vec<u8>,
    out: Vec<u8>,
    taken: usize,
}

#[derive(Debug)]
struct RowState {
    row: Row,
    code: String,
    /// The first change that has not come.
    next: usize,
}

impl<R: BufRead> WithRows<R> {
    /// The waveform that `inner` reads, with `rows`; `wanted` are names of signals with their scopes and without range.
    pub fn new(inner: R, rows: Vec<Row>, wanted: BTreeSet<String>) -> Self {
        let state = |row| RowState {
            row,
            code: String::new(),
            next: 0,
        };
        Self {
            inner,
            rows: rows.into_iter().map(state).collect(),
            wanted,
            declared: BTreeMap::new(),
            in_header: true,
            path: String::new(),
            longest: 0,
            looked: String::new(),
            found: Vec::new(),
            around: BTreeMap::new(),
            first: None,
            last: 0,
            line: Vec::new(),
            out: Vec::new(),
            taken: 0,
        }
    }

    /// Notes the signals of a scope, of the nearest one around it that has some: an error may name more scopes than a waveform.
    pub fn look_into(&mut self, scope: &str) {
        scope.clone_into(&mut self.looked);
    }

    /// The scope that was looked into, and its own signals, as they are declared.
    pub fn looked_into(&self) -> (&str, &[(String, Declared)]) {
        (&self.looked, &self.found)
    }

    /// Bytes of the path of the present scope, if it is the one that is looked into or around it.
    fn around(&self) -> Option<usize> {
        let scope = self.path.trim_end_matches('.');
        let rest = self.looked.strip_prefix(scope)?;
        let is_around = !scope.is_empty() && (rest.is_empty() || rest.starts_with('.'));
        is_around.then_some(scope.len())
    }

    /// The wanted signals that there are, as far as the waveform has been read; rows are among them.
    pub fn declared(&self) -> &BTreeMap<String, Declared> {
        &self.declared
    }

    /// First and last time of the waveform read so far; `None` before the first time.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.first.map(|first| (first, self.last))
    }

    /// Takes the next line; what is to be read for it is in `out` then.
    fn advance(&mut self) -> io::Result<()> {
        self.out.clear();
        self.taken = 0;
        self.line.clear();
        if self.inner.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(());
        }
        if self.in_header {
            self.header_line();
        } else if let Some(time) = time_of(&self.line) {
            if self.first.is_some() {
                self.changes_before(time);
            }
            self.first.get_or_insert(time);
            self.last = time;
            self.out.extend_from_slice(&self.line);
            self.changes_at(time);
            return Ok(());
        }
        self.out.extend_from_slice(&self.line);
        Ok(())
    }

    fn header_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("$scope") => {
                if let Some(name) = words.nth(1) {
                    self.path.push_str(name);
                    self.path.push('.');
                }
            }
            Some("$upscope") => {
                let parent = self.path.trim_end_matches('.').rfind('.');
                self.path.truncate(parent.map_or(0, |dot| dot + 1));
            }
            Some("$var") => {
                let (Some(width), Some(code), Some(name)) =
                    (words.nth(1), words.next(), words.next())
                else {
                    return;
                };
                self.longest = self.longest.max(code.len());
                let full = format!("{}{name}", self.path);
                let (wanted, around) = (self.wanted.contains(&full), self.around());
                if !wanted && around.is_none() {
                    return;
                }
                let range = words.next().filter(|word| *word != "$end");
                let declared = Declared {
                    width: width.parse().unwrap_or(0),
                    range: range.unwrap_or_default().to_owned(),
                };
                if let Some(length) = around {
                    let signals = self.around.entry(length).or_default();
                    signals.push((name.to_owned(), declared.clone()));
                }
                if wanted {
                    self.declared.insert(full, declared);
                }
            }
            Some("$enddefinitions") => {
                if let Some((length, found)) = std::mem::take(&mut self.around).pop_last() {
                    self.looked.truncate(length);
                    self.found = found;
                }
                self.declare_rows();
            }
            _ => {}
        }
    }

    fn declare_rows(&mut self) {
        self.in_header = false;
        if self.rows.is_empty() {
            return;
        }
        let mut text = format!(" $scope module {SCOPE} $end\n");
        // Longer than any other, so no other's.
        let prefix = "!".repeat(self.longest + 1);
        for (number, state) in self.rows.iter_mut().enumerate() {
            state.code = format!("{prefix}{number}");
            text.push_str(&state.row.declaration(&state.code));
            let width = state.row.width() as u32;
            let range = format!("[{}:0]", width - 1);
            self.declared
                .insert(state.row.path(), Declared { width, range });
        }
        text.push_str(" $upscope $end\n");
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes changes of rows at times of their own, before the waveform's next time.
    fn changes_before(&mut self, time: u64) {
        loop {
            let due = self.rows.iter().filter_map(|state| state.due_before(time));
            let Some(at) = due.min() else {
                return;
            };
            self.out.extend_from_slice(format!("#{at}\n").as_bytes());
            self.changes_at(at);
        }
    }

    fn changes_at(&mut self, time: u64) {
        let begins = self.first == Some(time);
        for state in &mut self.rows {
            let come = |(at, _): &&(u64, String)| *at <= time;
            let changes = &state.row.changes;
            let next = state.next + changes[state.next..].iter().take_while(come).count();
            if next == state.next && !begins {
                continue;
            }
            state.next = next;
            let word = next.checked_sub(1).map_or("", |last| &changes[last].1);
            self.out.push(b'b');
            let shown = if word.is_empty() { " " } else { word };
            self.out.extend(shown.bytes().flat_map(digits));
            self.out
                .extend_from_slice(format!(" {}\n", state.code).as_bytes());
        }
    }
}

impl RowState {
    fn due_before(&self, time: u64) -> Option<u64> {
        let next = self.row.changes.get(self.next);
        next.map(|&(at, _)| at).filter(|&at| at < time)
    }
}

/// The bits of a character, the highest first.
fn digits(byte: u8) -> impl Iterator<Item = u8> {
    (0..8).rev().map(move |bit| b'0' + (byte >> bit & 1))
}

/// The time of a line that begins one.
fn time_of(line: &[u8]) -> Option<u64> {
    let text = line.strip_prefix(b"#")?;
    std::str::from_utf8(text).ok()?.trim_end().parse().ok()
}

impl<R: BufRead> Read for WithRows<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(into.len());
        into[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for WithRows<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.out.len() {
            self.advance()?;
        }
        Ok(&self.out[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const VCD: &str = "$timescale 1ps $end\n $scope module top $end\n  $scope module u $end\n\
        \x20  $var wire 4 ## bus [3:0] $end\n  $upscope $end\n  $var wire 1 % clk $end\n $upscope $end\n\
        $enddefinitions $end\n#10\nb1 ##\n#20\nb10 ##\n";

    fn row(changes: &[(u64, &str)]) -> Row {
        Row {
            name: "stage".into(),
            changes: changes.iter().map(|&(at, w)| (at, w.into())).collect(),
        }
    }

    fn text(rows: Vec<Row>, wanted: &[&str]) -> (String, BTreeMap<String, Declared>) {
        let wanted: BTreeSet<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        let mut reader = WithRows::new(VCD.as_bytes(), rows, wanted);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(reader.times(), Some((10, 20)));
        (text, reader.declared().clone())
    }

    #[test]
    fn x2_signals_of_a_scope_are_noted_or_those_of_the_nearest_around_it() {
        for (scope, found, name) in [
            ("top.u", "top.u", "bus"),
            ("top.u.label", "top.u", "bus"),
            ("top.used", "top", "clk"),
            ("other.u", "other.u", ""),
        ] {
            let mut reader = WithRows::new(VCD.as_bytes(), Vec::new(), BTreeSet::new());
            reader.look_into(scope);
            let mut text = String::new();
            reader.read_to_string(&mut text).expect("text");
            let (looked, signals) = reader.looked_into();
            let names: Vec<&str> = signals.iter().map(|(name, _)| name.as_str()).collect();
            let expected: &[&str] = if name.is_empty() { &[] } else { &[name] };
            assert_eq!((looked, &names[..]), (found, expected), "{scope}");
        }
    }

    #[test]
    fn x2_without_rows_a_waveform_stays_as_it_is() {
        let (same, declared) = text(Vec::new(), &["top.u.bus", "top.clk", "top.bus"]);
        assert_eq!(same, VCD);
        let found: Vec<_> = declared
            .iter()
            .map(|(name, d)| (name.as_str(), d.width, d.range.as_str()))
            .collect();
        assert_eq!(found, [("top.clk", 1, ""), ("top.u.bus", 4, "[3:0]")]);
    }

    #[test]
    fn x2_a_row_shows_its_words_from_the_first_time_to_the_last() {
        let changes = [(5, "A"), (10, "B"), (15, "AB"), (20, ""), (25, "C")];
        let (with, declared) = text(vec![row(&changes)], &[]);
        let shown = "#10\nb01000010 !!!0\nb1 ##\n#15\nb0100000101000010 !!!0\n#20\nb00100000 !!!0\nb10 ##\n";
        assert!(with.ends_with(shown), "{with}");
        assert!(
            with.contains("$var wire 16 !!!0 stage [15:0] $end"),
            "{with}"
        );
        assert_eq!(declared["message.stage"].width, 16);
        // One that has not begun yet shows nothing.
        let (with, _) = text(vec![row(&[(15, "A")])], &[]);
        assert!(with.contains("#10\nb00100000 !!!0\n"), "{with}");
    }
}

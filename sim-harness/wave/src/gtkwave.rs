// SPDX-License-Identifier: MIT OR Apache-2.0
//! Save files of GTKWave: which signals of a waveform it shows at first, and how.

use std::fmt::Write as _;
use std::ops::Range;

/// Begins a save file of this crate's. GTKWave begins one that it has saved otherwise.
const OWN: &str = "[*] First view of a waveform, written by Gyre";

/// Picoseconds of a pixel at zoom 0, as a part of one.
const PIXELS_AT_ZOOM_0: f64 = 200.0;
/// Size of the window, and widths of its parts, which are as narrow as names allow.
const WINDOW: (u32, u32) = (1600, 1000);
const TREE: u32 = 280;
const NAMES: u32 = 340;
/// Pixels that borders take.
const BORDERS: u32 = 50;

/// How a signal's values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radix {
    /// As bits; a single one as a level.
    Binary,
    /// In base 16.
    Hexadecimal,
    /// In base 10.
    Decimal,
    /// As ASCII characters.
    Text,
}

impl Radix {
    /// The flags of a trace of GTKWave's; its values stand at the right of their names.
    const fn flags(self) -> u32 {
        const RIGHT: u32 = 0x20;
        RIGHT
            | match self {
                Self::Binary => 0x8,
                Self::Hexadecimal => 0x2,
                Self::Decimal => 0x4,
                Self::Text => 0x800,
            }
    }
}

/// A signal as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// Name with its scopes and its range.
    pub name: String,
    /// Label of the row. GTKWave leaves out the part before a dot.
    pub label: String,
    /// How its values are shown.
    pub radix: Radix,
    /// Which of its bits alone is shown, from the left.
    pub bit: Option<u32>,
    /// Whether it stands out.
    pub bright: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Words in the place of a signal.
    Title(String),
    /// A signal.
    Signal(Signal),
}

/// A first view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaveFile {
    /// Name of the waveform's file, which lies beside the save file.
    pub waveform: String,
    /// Name of the save file.
    pub name: String,
    /// Shown times, in the waveform's unit.
    pub times: Range<u64>,
    /// Markers A, B, ... with their names, up to 26, of which any may be missing.
    pub markers: Vec<Option<(u64, String)>>,
    /// The rows.
    pub lines: Vec<Line>,
}

impl SaveFile {
    /// Whether `text` is a save file as it was written here, and not one that somebody has saved in its place.
    #[must_use]
    pub fn is_own(text: &[u8]) -> bool {
        text.starts_with(OWN.as_bytes())
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{OWN}\n");
        // Names alone: GTKWave finds a waveform beside its save file, wherever both are.
        let _ = writeln!(text, "[dumpfile] \"{}\"", self.waveform);
        let _ = writeln!(text, "[savefile] \"{}\"", self.name);
        let _ = writeln!(text, "[timestart] {}", self.times.start);
        let _ = writeln!(text, "[size] {} {}", WINDOW.0, WINDOW.1);
        let shown = f64::from(WINDOW.0 - TREE - NAMES - BORDERS);
        let length = self.times.end.saturating_sub(self.times.start).max(1) as f64;
        let zoom = -(length / shown * PIXELS_AT_ZOOM_0).max(1.0).log2();
        // The cursor stands at the first marker.
        let _ = write!(text, "*{zoom:.6}");
        let cursor = self.markers.iter().flatten().next();
        let markers = self.markers.iter().map(Option::as_ref);
        for marker in std::iter::once(cursor).chain(markers) {
            match marker {
                Some((at, _)) => drop(write!(text, " {at}")),
                None => text.push_str(" -1"),
            }
        }
        text.push('\n');
        for (marker, letter) in self.markers.iter().zip('A'..='Z') {
            if let Some((_, name)) = marker {
                let _ = writeln!(text, "[markername] {letter}{name}");
            }
        }
        let _ = writeln!(
            text,
            "[sst_width] {TREE}\n[signals_width] {NAMES}\n[sst_expanded] 1"
        );
        let mut flags = None;
        for line in &self.lines {
            match line {
                Line::Title(title) => {
                    change(&mut text, &mut flags, 0x200);
                    let _ = writeln!(text, "-{title}");
                }
                Line::Signal(signal) => {
                    change(&mut text, &mut flags, signal.radix.flags());
                    if signal.bright {
                        text.push_str("[color] 3\n");
                    }
                    let _ = write!(text, "+{{{}}} ", signal.label);
                    if let Some(bit) = signal.bit {
                        let _ = write!(text, "({bit})");
                    }
                    let _ = writeln!(text, "{}", signal.name);
                }
            }
        }
        text
    }
}

/// Flags stand where they change.
fn change(text: &mut String, last: &mut Option<u32>, flags: u32) {
    if last.replace(flags) != Some(flags) {
        let _ = writeln!(text, "@{flags:x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x2_a_save_file_has_rows_in_order_and_flags_at_changes() {
        let signal = |name: &str, radix, bit| {
            Line::Signal(Signal {
                name: name.into(),
                label: "l".into(),
                radix,
                bit,
                bright: radix == Radix::Text,
            })
        };
        let file = SaveFile {
            waveform: "w.vcd".into(),
            name: "w.gtkw".into(),
            times: 1000..5_001_000,
            markers: vec![
                Some((2000, "post".into())),
                None,
                Some((4000, "end".into())),
            ],
            lines: vec![
                Line::Title("node 0".into()),
                signal("a.b[3:0]", Radix::Hexadecimal, None),
                signal("a.c[3:0]", Radix::Hexadecimal, None),
                signal("a.d[3:0]", Radix::Binary, Some(3)),
                signal("a.e[7:0]", Radix::Text, None),
            ],
        };
        let text = file.text();
        assert!(SaveFile::is_own(text.as_bytes()));
        let rows = "@200\n-node 0\n@22\n+{l} a.b[3:0]\n+{l} a.c[3:0]\n@28\n+{l} (3)a.d[3:0]\n\
                    @820\n[color] 3\n+{l} a.e[7:0]\n";
        assert!(text.ends_with(rows), "{text}");
        assert!(text.contains(" 2000 2000 -1 4000\n[markername] Apost\n[markername] Cend\n"));
    }
}

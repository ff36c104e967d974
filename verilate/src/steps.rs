//! Cuts the evaluation of a Verilated model into steps, so that several models can take each of them in turn.
//!
//! What a clock edge changes is computed by Verilator's function `eval_nba`, a list of
//!
//! ```text
//!     if ((MASK & vlSelfRef.__VnbaTriggered[0U])) {
//!         ...
//!     }
//! ```
//!
//! after the locals that the bodies use. A step is a function of its own with some of these, in order, and their locals.
//! The steps stand in a table `<class>___024root___nba_steps`, of `<class>___024root___nba_step_count`; `eval_nba`
//! itself calls one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::cache::files_in;

/// Conditions of a step. Fewer cost calls; with more, the code of a step does not stay in the first cache.
const CONDITIONS: usize = 64;

/// Part of the name of what Verilator makes of these steps; changes what is made from the same model.
pub(crate) const IDENTITY: &str = include_str!("steps.rs");

/// Rewrites the C++ that Verilator wrote to `dir` for the class `class`.
///
/// # Errors
/// [`Error::Evaluation`] where the code has another form than above.
pub(crate) fn cut(dir: &Path, class: &str) -> Result<(), Error> {
    let root = format!("{class}___024root");
    let head = format!("void {root}___eval_nba({root}* vlSelf) {{");
    for file in files_in(dir)? {
        if file.extension().is_none_or(|ext| ext != "cpp") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(Error::io(&file))?;
        let lines: Vec<&str> = text.lines().collect();
        let Some(first) = lines.iter().position(|line| *line == head) else {
            continue;
        };
        let source = Source {
            file: &file,
            lines: &lines,
        };
        let text = source.rewrite(class, &root, first)?;
        return fs::write(&file, text).map_err(Error::io(&file));
    }
    Err(Error::Evaluation {
        file: dir.to_owned(),
        line: 0,
        found: String::new(),
        expected: format!("a file with {head:?}"),
    })
}

struct Source<'a> {
    file: &'a Path,
    lines: &'a [&'a str],
}

impl Source<'_> {
    fn refuse(&self, line: usize, expected: &str) -> Error {
        Error::Evaluation {
            file: PathBuf::from(self.file),
            line: line + 1,
            found: self
                .lines
                .get(line)
                .map_or("", |line| line.trim())
                .to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// The first line from `from` on that is `wanted`.
    fn find(&self, from: usize, wanted: &str) -> Result<usize, Error> {
        (from..self.lines.len())
            .find(|&line| self.lines[line] == wanted)
            .ok_or_else(|| self.refuse(from, &format!("{wanted:?} somewhere after it")))
    }

    /// The file with steps in place of the function whose head is line `first`.
    fn rewrite(&self, class: &str, root: &str, first: usize) -> Result<String, Error> {
        let end = self.find(first, "}")?;
        let body = self.find(first, "    // Body")?;
        if body > end {
            return Err(self.refuse(first, "\"    // Body\" in the function"));
        }
        let locals = self.locals(first + 1, body)?;
        let conditions = self.conditions(body + 1, end)?;

        let mut text = self.lines[..first].join("\n");
        text.push('\n');
        let mut count = 0;
        for step in divide(&conditions, &locals) {
            let used: BTreeSet<&str> = step
                .iter()
                .flat_map(|condition| condition.names.iter().copied())
                .collect();
            let declared = locals.iter().filter(|(name, _)| used.contains(*name));
            let declarations: Vec<&str> = declared
                .flat_map(|(_, lines)| lines.iter().copied())
                .collect();
            let bodies: Vec<&str> = step
                .iter()
                .flat_map(|condition| self.lines[condition.first..=condition.last].iter().copied())
                .collect();
            let _ = write!(
                text,
                "static void {root}___nba_step_{count}({root}* vlSelf) {{\n\
                 \x20   {class}__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n\
                 \x20   auto& vlSelfRef = std::ref(*vlSelf).get();\n{}\n{}\n}}\n\n",
                declarations.join("\n"),
                bodies.join("\n"),
            );
            count += 1;
        }
        let steps: Vec<String> = (0..count)
            .map(|step| format!("    {root}___nba_step_{step},\n"))
            .collect();
        let _ = write!(
            text,
            "extern void (*const {root}___nba_steps[])({root}*);\n\
             extern const unsigned {root}___nba_step_count;\n\
             void (*const {root}___nba_steps[])({root}*) = {{\n{}}};\n\
             const unsigned {root}___nba_step_count = {count};\n\n\
             void {root}___eval_nba({root}* vlSelf) {{\n\
             \x20   for (auto* step : {root}___nba_steps) step(vlSelf);\n}}\n",
            steps.concat(),
        );
        text.push_str(&self.lines[end + 1..].join("\n"));
        text.push('\n');
        Ok(text)
    }

    /// The locals between two lines: of each, the lines that declare it and set its first value.
    fn locals(&self, from: usize, to: usize) -> Result<BTreeMap<&str, Vec<&str>>, Error> {
        let mut locals: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let Some(begin) = (from..to).find(|&line| self.lines[line] == "    // Locals") else {
            return Ok(locals);
        };
        let mut last = None;
        for (number, &line) in self.lines.iter().enumerate().take(to).skip(begin + 1) {
            // Either declares one, `TYPE NAME;`, or gives the last one its value.
            let about_last = last.filter(|name| names(line).any(|word| word == *name));
            let name = match (about_last, line.trim().strip_suffix(';')) {
                (Some(name), _) => name,
                (None, Some(declaration)) => declaration
                    .rsplit_once(' ')
                    .map(|(_, name)| name)
                    .filter(|name| !name.is_empty() && name.chars().all(is_name))
                    .ok_or_else(|| self.refuse(number, "`TYPE NAME;`"))?,
                (None, None) => return Err(self.refuse(number, "`TYPE NAME;` in one line")),
            };
            locals.entry(name).or_default().push(line);
            last = Some(name);
        }
        Ok(locals)
    }

    /// The statements between two lines.
    fn conditions(&self, from: usize, to: usize) -> Result<Vec<Condition<'_>>, Error> {
        let mut conditions = Vec::new();
        let mut first = from;
        while first < to {
            let last = self.find(first, "    }")?;
            let head: String = self.lines[first..=last]
                .iter()
                .take_while(|line| !line.ends_with('}'))
                .map(|line| line.trim())
                .scan(false, |opened, line| {
                    let line = (!*opened).then_some(line);
                    *opened |= line.is_some_and(|line| line.ends_with('{'));
                    line
                })
                .collect();
            let mask = head
                .replace(' ', "")
                .strip_prefix("if((")
                .and_then(|rest| rest.strip_suffix("&vlSelfRef.__VnbaTriggered[0U])){"))
                .map(str::to_owned);
            if last >= to || !mask.is_some_and(|mask| mask.chars().all(is_name)) {
                return Err(self.refuse(
                    first,
                    "`if ((MASK & vlSelfRef.__VnbaTriggered[0U])) {` to `}`",
                ));
            }
            let names = self.lines[first..=last].iter().flat_map(|line| names(line));
            conditions.push(Condition {
                first,
                last,
                names: names.collect(),
            });
            first = last + 1;
        }
        Ok(conditions)
    }
}

/// A statement of the function.
struct Condition<'a> {
    first: usize,
    last: usize,
    /// Names in it.
    names: BTreeSet<&'a str>,
}

/// Steps of [`CONDITIONS`], or more where a local would be used by two.
fn divide<'c, 'a>(
    conditions: &'c [Condition<'a>],
    locals: &BTreeMap<&str, Vec<&str>>,
) -> Vec<&'c [Condition<'a>]> {
    let mut last_use = BTreeMap::new();
    for (number, condition) in conditions.iter().enumerate() {
        for name in &condition.names {
            if locals.contains_key(name) {
                last_use.insert(*name, number);
            }
        }
    }
    let mut steps = Vec::new();
    let (mut first, mut needed) = (0, 0);
    for (number, condition) in conditions.iter().enumerate() {
        let uses = condition.names.iter().filter_map(|name| last_use.get(name));
        needed = uses.copied().fold(needed, usize::max);
        if number + 1 == conditions.len() || (number + 1 - first >= CONDITIONS && needed <= number)
        {
            steps.push(&conditions[first..=number]);
            first = number + 1;
        }
    }
    steps
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Identifiers and numbers of a line.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_name(c)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function with a local in each of the statements that `uses` names.
    fn generated(statements: usize, uses: &[usize]) -> String {
        let mut text = "#include \"Vm__pch.h\"\n\nvoid Vm___024root___eval_nba(Vm___024root* vlSelf) {\n    \
                        auto& vlSelfRef = std::ref(*vlSelf).get();\n    // Locals\n    CData/*0:0*/ local;\n    \
                        local = 0;\n    // Body\n"
            .to_owned();
        for number in 0..statements {
            let value = if uses.contains(&number) {
                "local"
            } else {
                "0U"
            };
            let _ = write!(
                text,
                "    if ((2ULL & vlSelfRef.__VnbaTriggered\n         [0U])) {{\n        vlSelfRef.s{number} = {value};\n    }}\n"
            );
        }
        text + "}\n\nvoid after() {\n}\n"
    }

    fn cut_text(text: &str) -> Result<String, Error> {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = dir.path().join("Vm___024root__0.cpp");
        fs::write(&file, text).expect("file");
        cut(dir.path(), "Vm")?;
        Ok(fs::read_to_string(&file).expect("file"))
    }

    #[test]
    fn every_statement_is_in_one_step_in_order_with_its_local() {
        let text = cut_text(&generated(3 * CONDITIONS + 1, &[CONDITIONS])).expect("steps");
        assert!(text.contains("___nba_step_count = 4;"), "{text}");
        let places: Vec<_> = (0..=3 * CONDITIONS)
            .map(|number| {
                text.find(&format!("vlSelfRef.s{number} = "))
                    .expect("statement")
            })
            .collect();
        assert!(places.is_sorted());
        assert_eq!(
            text.matches("CData/*0:0*/ local;\n    local = 0;").count(),
            1
        );
        let step = text.find("___nba_step_1(").expect("second step");
        assert!(
            step < text.find("local;").expect("local") && text.ends_with("void after() {\n}\n")
        );
    }

    #[test]
    fn statements_that_share_a_local_share_a_step() {
        let text = cut_text(&generated(3 * CONDITIONS, &[0, 2 * CONDITIONS])).expect("steps");
        assert!(text.contains("___nba_step_count = 2;"), "{text}");
    }

    #[test]
    fn code_of_another_form_is_refused_with_its_place() {
        let good = generated(2, &[]);
        for (from, to, line, expected) in [
            (
                "    if ((2ULL & vlSelfRef.__VnbaTriggered\n         [0U])) {\n        vlSelfRef.s1",
                "    vlSelfRef.s1",
                13,
                "MASK",
            ),
            (
                "VnbaTriggered\n         [0U])) {\n        vlSelfRef.s1",
                "VnbaTriggered[1U])) {\n        vlSelfRef.s1",
                13,
                "MASK",
            ),
            (
                "    CData/*0:0*/ local;",
                "    CData/*0:0*/ local = f();",
                6,
                "TYPE NAME;",
            ),
            ("    // Body", "    // Other", 3, "// Body"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = cut_text(&good.replace(from, to)).expect_err("another form");
            let text = error.to_string();
            assert!(
                text.contains(&format!("__0.cpp:{line}:")) && text.contains(expected),
                "{text}"
            );
        }
        let error = cut_text("void f() {\n}\n").expect_err("no function");
        assert!(error.to_string().contains("eval_nba"), "{error}");
    }
}

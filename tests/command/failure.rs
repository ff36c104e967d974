// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waveforms of runs that fail: the file is whole, shows the failing cycle or what was around the last progress, and the
//! repetition that it comes from fails in the same way.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use wellen::simple::{self, Waveform};

use crate::models::{tree, with};
use crate::{error_of, gyre, printed_by, root, scratch, text};

/// The RTL with a fault for the first message of each of some tasks, which the receiving node's write path finds by its
/// id: of task 1 it fails an assertion, of task 3 a bit of its payload flips on the way to memory, that of task 4 it keeps
/// for ever.
fn faulty() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    TREE.get_or_init(|| {
        let faults = with([
            (
                "  assign aw_req_o     = !empty &&",
                "  logic hang;\n  assign hang = !empty && next.dbg == 32'h0004_0001;\n  \
                 assign aw_req_o     = !empty && !hang &&",
            ),
            (
                "assign idle_o = !aw_req_o &&",
                "assign idle_o = !hang && !aw_req_o &&",
            ),
            (
                "w_data_o = buf_data_i;",
                "w_data_o = buf_data_i ^ AxiW'(d.dbg == 32'h0003_0001 && row_q == 4'd3);",
            ),
            (
                "    if (rst_ni && w_pop_i) begin\n",
                "    if (rst_ni && push_i) begin\n      \
                 Planted : assert (push_data_i.dbg != 32'h0001_0001)\n      \
                 else $error(\"%m: planted\");\n    end\n    if (rst_ni && w_pop_i) begin\n",
            ),
        ]);
        tree("rtl-planted", "dma/rx_write.sv", faults)
    })
}

/// A program of 5 ranks in which `source` sends 600 B to rank 0.
fn program(source: usize) -> PathBuf {
    let path = scratch(&format!("planted-{source}.goal"));
    let ranks: String = (0..5)
        .map(|rank| {
            let op = match rank {
                0 => format!("recv 600b from {source} tag 5\n"),
                _ if rank == source => "send 600b to 0 tag 5\n".to_owned(),
                _ => String::new(),
            };
            format!("rank {rank} {{\n{op}}}\n")
        })
        .collect();
    fs::write(&path, format!("num_ranks 5\n{ranks}")).expect("the build's folder can be written");
    path
}

/// Standard error of a command that fails, without lines on the building of models.
fn failed(arguments: &[&str]) -> String {
    let output = gyre(arguments);
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    let notices = ["gyre: compiling the model", "gyre: another process"];
    let notice = |line: &&str| !notices.iter().any(|notice| line.starts_with(notice));
    let lines = error.lines().filter(notice).map(|line| format!("{line}\n"));
    lines.collect()
}

/// A waveform that has been read whole.
struct Wave(Waveform);

impl Wave {
    fn read(path: &Path) -> Self {
        Self(simple::read(path).expect("a standard reader opens the file"))
    }

    /// The cycles that it shows, in order, with their rising and falling edges.
    fn cycles(&mut self) -> Vec<u64> {
        let hierarchy = self.0.hierarchy();
        let cycle = hierarchy
            .all_vars()
            .find(|&var| hierarchy[var].full_name(hierarchy) == "machine.cycle")
            .map(|var| hierarchy[var].signal_ref())
            .expect("declared");
        self.0.load_signals(&[cycle]);
        let signal = self.0.get_signal(cycle).expect("loaded above");
        let changes = signal.iter_changes();
        let cycles: Vec<u64> = changes
            .filter_map(|(_, value)| u64::from_str_radix(&value.to_string(), 2).ok())
            .collect();
        let last = cycles.last().expect("a cycle at least");
        assert_eq!(
            self.0.time_table().last(),
            Some(&(last * 2000 + 1000)),
            "the falling edge of the last cycle"
        );
        cycles
    }

    fn nodes(&self) -> BTreeSet<String> {
        let hierarchy = self.0.hierarchy();
        let names = hierarchy
            .all_vars()
            .map(|var| hierarchy[var].full_name(hierarchy));
        let nodes = names.filter_map(|name| name.split('.').next().map(str::to_owned));
        nodes.filter(|name| name.starts_with("node")).collect()
    }
}

/// A command's standard error without a waveform on failure, and what it says of the waveform with one of the file `name`.
/// The repetition must fail in the same way.
fn shown(arguments: &[&str], name: &str, cycles: &str) -> (String, String, Wave) {
    let path = scratch(name);
    fs::remove_file(&path).ok();
    let plain = failed(arguments);
    let option = format!("{}{cycles}", text(&path));
    let error = failed(&[arguments, &["--trace-on-failure", &option]].concat());
    let said = error.strip_prefix(plain.trim_end());
    let said = said.unwrap_or_else(|| panic!("{error}\ndoes not begin as\n{plain}"));
    assert!(said.contains(text(&path)), "{said}");
    assert!(!said.contains("diverged"), "{said}");
    (plain, said.to_owned(), Wave::read(&path))
}

/// The number behind `words` in a text.
fn number(text: &str, words: &str) -> u64 {
    let (_, after) = text
        .split_once(words)
        .unwrap_or_else(|| panic!("no `{words}` in {text}"));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// The cycle of the time, in microseconds, at which software has failed.
fn cycle_of(error: &str) -> u64 {
    let (_, when) = error.split_once(", at ").expect("a time");
    let (us, _) = when.split_once(" us").expect("microseconds");
    (us.parse::<f64>().expect("a number") * 500.0) as u64
}

/// Arguments of a run of `program` on the faulty RTL.
fn planted(program: &Path) -> [&str; 6] {
    [
        "run",
        text(program),
        "--shape",
        "5",
        "--rtl",
        text(faulty()),
    ]
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
#[ignore = "deep: models of its own"]
fn x2_a_failed_assertion_leaves_the_cycles_up_to_it() {
    let program = program(1);
    for name in ["assertion.vcd", "assertion.fst"] {
        let (error, said, mut wave) = shown(&planted(&program), name, ":300");
        assert!(
            error.starts_with("gyre: node 0, cycle ") && error.contains("planted"),
            "{error}"
        );
        let cycle = number(&error, "node 0, cycle ");
        let shown = wave.cycles();
        assert_eq!(
            (shown.first(), shown.last()),
            (Some(&(cycle - 299)), Some(&cycle))
        );
        // Others are left out, when nothing happens.
        assert!(shown.len() > 50 && shown.is_sorted(), "{shown:?}");
        assert_eq!(wave.nodes(), set(&["node0"]));
        // Its view ends there, with the message under way.
        let words = crate::first_view::check_failure(&scratch(name), cycle, false);
        // It begins with the ports and registers of the failing instance.
        let view = fs::read_to_string(scratch(name).with_extension("gtkw")).expect("the view");
        let first = view
            .lines()
            .position(|line| line.starts_with("-failed in node0."));
        let rows: Vec<&str> = view
            .lines()
            .skip(first.expect("the instance"))
            .skip(1)
            .filter(|line| !line.starts_with('@'))
            .take_while(|line| !line.starts_with('-'))
            .collect();
        assert!(
            rows.iter().any(|row| row.contains("push_i")) && rows.len() > 10,
            "{rows:?}"
        );
        let last = &words.last().expect("a message is under way").1;
        assert!(last != "done", "{words:?}");
        // What the assertion is about is there when it fails, at the beginning of its cycle.
        assert!(crate::waveform::carries(&scratch(name), "dbg", 0x1_0001));

        // The command that it names leaves the same file.
        let path = scratch(name);
        let before = fs::read(&path).expect("the waveform");
        fs::remove_file(&path).expect("own file");
        let (_, command) = said.split_once("to repeat it: gyre ").expect("a command");
        let arguments: Vec<&str> = command.split_whitespace().collect();
        assert!(arguments.contains(&"--trace-window"), "{command}");
        assert_eq!(failed(&arguments).lines().next(), error.lines().next());
        assert_eq!(
            fs::read(&path).expect("the waveform again"),
            before,
            "{name}"
        );
    }
}

#[test]
#[ignore = "deep: models of its own"]
fn x2_wrong_data_leaves_the_cycles_before_its_check() {
    let program = program(3);
    let arguments = [&planted(&program)[..], &["--trace-scope", "0,3"]].concat();
    let plain = failed(&planted(&program));
    let path = scratch("wrong.fst");
    let option = [&arguments[..], &["--trace-on-failure", text(&path)]].concat();
    let error = failed(&option);
    assert!(
        plain.contains("node 0, rank 0") && plain.contains("message"),
        "{plain}"
    );
    assert!(error.starts_with(plain.trim_end()), "{error}");
    assert!(!error.contains("diverged"), "{error}");
    let mut wave = Wave::read(&path);
    let shown = wave.cycles();
    assert_eq!(shown.last(), Some(&cycle_of(&plain)));
    assert!(shown.len() > 100 && shown[0] >= shown[shown.len() - 1] - 1999);
    assert_eq!(wave.nodes(), set(&["node0", "node3"]));
}

#[test]
#[ignore = "deep: models of its own"]
fn x2_a_watchdog_leaves_the_cycles_around_the_last_progress() {
    let program = program(4);
    let machine = scratch("patient.toml");
    fs::write(&machine, "[machine]\ndims = [5]\nwatchdog = 20000\n").expect("own folder");
    let arguments = [
        "run",
        text(&program),
        "--machine",
        text(&machine),
        "--rtl",
        text(faulty()),
    ];
    let (error, _, mut wave) = shown(&arguments, "watchdog.fst", ":400");
    assert!(error.starts_with("gyre: no progress for 2"), "{error}");
    let progress = number(&error, "last progress in cycle ");
    let shown = wave.cycles();
    crate::first_view::check_failure(&scratch("watchdog.fst"), progress, true);
    let around = (progress - 199, progress + 200);
    assert_eq!((shown[0], shown[shown.len() - 1]), around);
    // The rank that waits, and the node that keeps the message, which is the same; the others have ended.
    assert_eq!(wave.nodes(), set(&["node0"]));
}

#[test]
fn x2_a_deadlock_leaves_the_cycles_around_the_last_progress() {
    let program = scratch("all-wait.goal");
    // Each waits for the next before it sends to the one before.
    let wait = |rank| {
        let (next, last) = ((rank + 1) % 3, (rank + 2) % 3);
        format!("rank {rank} {{\nw: recv 8b from {next}\ns: send 8b to {last}\ns requires w\n}}\n")
    };
    let ranks: String = (0..3).map(wait).collect();
    fs::write(&program, format!("num_ranks 3\n{ranks}")).expect("own folder");
    let arguments = ["run", text(&program), "--shape", "3"];
    let (error, said, mut wave) = shown(&arguments, "deadlock.vcd", ":500");
    assert!(error.starts_with("gyre: deadlock"), "{error}");
    let progress = number(&error, "last progress in cycle ");
    let shown = wave.cycles();
    assert!(shown.contains(&progress), "{progress} in {shown:?}");
    crate::first_view::check_failure(&scratch("deadlock.vcd"), progress, true);
    assert!(shown[0] + 250 > progress && shown[shown.len() - 1] <= progress + 250);
    assert_eq!(wave.nodes(), set(&["node0", "node1", "node2"]));
    assert!(said.contains("nodes 0,1,2: "), "{said}");
}

#[test]
fn x2_a_failure_before_the_program_begins_is_shown_too() {
    let machine = scratch("impatient.toml");
    fs::write(&machine, "[machine]\ndims = [5]\nwatchdog = 64\n").expect("own folder");
    let program = program(2);
    let arguments = ["run", text(&program), "--machine", text(&machine)];
    let (error, _, mut wave) = shown(&arguments, "bring-up.fst", "");
    assert!(error.contains("node 4 firmware: since"), "{error}");
    assert_eq!(wave.cycles().first(), Some(&0));
    assert_eq!(wave.nodes().len(), 5);
}

#[test]
fn x2_a_hardware_error_leaves_the_cycles_until_software_sees_it() {
    let machine = scratch("broken-ring.toml");
    let ranges = "[{ start = 0x10_0000_0000, end = 0x10_0000_1000 }]";
    let description = format!("[machine]\ndims = [5]\nmemory = {{ error_ranges = {ranges} }}\n");
    fs::write(&machine, description).expect("own folder");
    let program = program(2);
    let arguments = ["run", text(&program), "--machine", text(&machine)];
    let (error, _, mut wave) = shown(&arguments, "hardware.fst", "");
    assert!(error.contains("refused a descriptor"), "{error}");
    let shown = wave.cycles();
    assert_eq!(shown.last(), Some(&cycle_of(&error)));
    assert_eq!(wave.nodes(), set(&["node2"]));
}

#[test]
#[ignore = "deep: models of its own"]
fn x2_a_run_that_fails_with_a_waveform_keeps_it() {
    let program = program(1);
    let plain = failed(&planted(&program));
    let cycle = number(&plain, "node 0, cycle ");
    let path = scratch("kept.fst");
    let window = format!("{}:{}", cycle - 50, cycle + 50);
    let trace = ["--trace", text(&path), "--trace-window", &window];
    let error = failed(&[&planted(&program)[..], &trace, &["--trace-scope", "1"]].concat());
    assert!(error.starts_with(plain.trim_end()), "{error}");
    let mut wave = Wave::read(&path);
    let shown = wave.cycles();
    assert_eq!((shown[0], shown[shown.len() - 1]), (cycle - 50, cycle));
    assert_eq!(wave.nodes(), set(&["node1"]));
}

#[test]
#[ignore = "deep: models of its own"]
fn x2_benches_leave_the_cycles_up_to_a_failure_too() {
    // The answer of task 1 is its first message.
    let bench = ["bench", "pingpong", "--shape", "2", "--rtl", text(faulty())];
    let (error, said, mut wave) = shown(&bench, "bench.fst", ":100");
    let cycle = number(&error, "node 0, cycle ");
    let shown = wave.cycles();
    assert_eq!((shown[0], shown[shown.len() - 1]), (cycle - 99, cycle));
    assert!(said.contains("to repeat it: gyre bench pingpong"), "{said}");
    crate::first_view::check_failure(&scratch("bench.fst"), cycle, false);
    // A bench that fails with a waveform under way keeps it.
    let path = scratch("bench-kept.fst");
    let window = format!("{}:{}", cycle - 20, cycle + 20);
    let trace = [
        "--trace",
        text(&path),
        "--trace-window",
        &window,
        "--trace-scope",
        "0",
    ];
    let kept = failed(&[&bench[..], &trace].concat());
    assert!(
        kept.starts_with(error.trim_end()) && kept.contains(text(&path)),
        "{kept}"
    );
    assert_eq!(Wave::read(&path).cycles().last(), Some(&cycle));
    crate::first_view::check_failure(&path, cycle, false);
}

#[test]
fn x1_x2_waveforms_of_benches_name_their_machine_and_change_nothing() {
    for (bench, shape, machine, window) in [
        ("hop-latency", "8x1x1", "2", "100:160"),
        ("pingpong", "2", "1", "16000:16050"),
    ] {
        let arguments = ["bench", bench, "--shape", shape];
        let plain = crate::json(&arguments);
        let path = scratch(&format!("{bench}.fst"));
        let trace = [
            "--trace",
            text(&path),
            "--trace-machine",
            machine,
            "--trace-window",
            window,
            "--trace-scope",
            "1",
        ];
        let traced = [&arguments[..], &trace].concat();
        let output = gyre(&traced);
        let report = printed_by(&output);
        assert!(output.status.success(), "{}", error_of(&output));
        let hash = plain["hash"].as_str().expect("a hash");
        assert!(report.contains(&format!("\nhash {hash}\n")), "{report}");
        let (from, to) = window.split_once(':').expect("a window");
        let named = format!("waveform of cycles {from} to {to} of machine {machine} of ");
        assert!(report.contains(&named), "{report}");
        let mut wave = Wave::read(&path);
        assert_eq!(
            wave.cycles().first().map(u64::to_string).as_deref(),
            Some(from)
        );
        assert_eq!(wave.nodes(), set(&["node1"]));
    }
    let late = [
        "--trace",
        text(&scratch("none.vcd")),
        "--trace-machine",
        "9",
    ]
    .map(str::to_owned);
    let late: Vec<&str> = late.iter().map(String::as_str).collect();
    let output = gyre(&[&["bench", "hop-latency", "--shape", "8"][..], &late].concat());
    assert_eq!(output.status.code(), Some(2));
    let error = error_of(&output);
    assert!(
        error.contains("--trace-machine: expected 1 to 2"),
        "{error}"
    );
}

#[test]
fn x2_a_program_whose_result_is_wrong_leaves_its_last_cycles() {
    let path = scratch("heat.fst");
    let arguments = format!(
        "heat --shape 3x2 --set grid=10x9x8 --set steps=3 --set flip=2 --trace-scope 0 \
         --trace-on-failure {}:100",
        text(&path)
    );
    let printed = crate::programs::heat::PROGRAM.execute(arguments.split_whitespace());
    assert_eq!(printed.status, 1, "{}", printed.error);
    let said = &printed.output;
    assert!(
        said.contains("NOT VERIFIED") && !said.contains("diverged"),
        "{said}"
    );
    let simulated = said.split_once(" cycles simulated").expect("the figures").0;
    let simulated = simulated
        .rsplit_once('\n')
        .expect("a line")
        .1
        .parse::<u64>();
    let last = *Wave::read(&path).cycles().last().expect("a cycle");
    let end = simulated.expect("a number");
    assert!((end - 64..end).contains(&last), "{last} of {end}");
    assert!(said.contains("to repeat it: heat --shape 3x2"), "{said}");
}

#[test]
fn x2_x5_waveforms_on_failure_are_refused_before_anything_runs() {
    for (arguments, words) in [
        (
            &["--trace-on-failure", "w.txt"][..],
            "expected FILE.vcd or FILE.fst",
        ),
        (&["--trace-on-failure", "w.fst:0"], "N cycles, 1 or more"),
        (
            &["--trace-on-failure", "no/such/w.fst"],
            "--trace-on-failure no/such/w.fst",
        ),
        (
            &["--trace-on-failure", "w.fst", "--trace", "v.fst"],
            "cannot be used with",
        ),
        (
            &["--trace-on-failure", "w.fst", "--trace-window", "1:2"],
            "--trace",
        ),
        (
            &["--trace-on-failure", "w.fst", "--trace-scope", "99"],
            "node7",
        ),
    ] {
        let output = gyre(&[&["run", "lulesh"][..], arguments].concat());
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.contains(words),
            "{arguments:?}: no `{words}` in {error}"
        );
    }
    assert!(!root().join("w.fst").exists());
}

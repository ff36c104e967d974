// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs in `examples/`, on small machines: rings of one and two nodes, several tasks a node.

use gyre::program::{Printed, Program};
use serde_json::{Value, json};

use crate::programs::{heat, hello, modules, norm, ping_pong, work_queue};
use crate::waveform;

/// Runs a program with `arguments`, blanks between them.
fn execute(program: &Program, arguments: &str) -> Printed {
    program.execute(std::iter::once(program.name).chain(arguments.split_whitespace()))
}

/// Runs a program that must succeed; its metrics.
fn metrics(program: &Program, arguments: &str) -> Value {
    let printed = execute(program, &format!("{arguments} --json"));
    let error = &printed.error;
    assert_eq!(printed.status, 0, "{} {arguments}: {error}", program.name);
    let mut result: Value = serde_json::from_str(&printed.output).expect("one JSON object");
    assert_eq!(result["metrics"]["verified"], true);
    result["metrics"].take()
}

/// Runs a program that must be refused with status 2, naming all of `words`.
fn refused(program: &Program, arguments: &str, words: &[&str]) {
    let Printed { error, status, .. } = execute(program, arguments);
    assert_eq!(status, 2, "{} {arguments}: {error}", program.name);
    for word in words {
        assert!(
            error.contains(word),
            "{} {arguments}: no `{word}` in: {error}",
            program.name
        );
    }
}

#[test]
fn ep1_ep4_hello_every_task_greets() {
    for (arguments, tasks) in [
        ("--shape 2x1x3", 6),
        ("--shape 1", 1),
        ("--shape 1 --set tasks_per_node=3", 3),
        ("--shape 2x2 --mesh a --set tasks_per_node=2", 8),
    ] {
        assert_eq!(metrics(&hello::PROGRAM, arguments)["tasks"], tasks);
    }
    let printed = execute(&hello::PROGRAM, "--shape 2");
    assert!(printed.output.contains("\nHello from task 1 of 2\n"));
}

#[test]
fn ep4_ping_pong_checks_every_byte_by_every_protocol() {
    for arguments in [
        "--shape 2x1",
        "--shape 1 --set tasks_per_node=2",
        "--shape 3x2 --set partner=4 --set rounds=2",
    ] {
        let metrics = metrics(
            &ping_pong::PROGRAM,
            &format!("{arguments} --set longest=9000"),
        );
        let rows = metrics["lengths"].as_array().expect("a list");
        let lengths: Vec<_> = rows.iter().map(|row| &row["message_bytes"]).collect();
        assert_eq!(lengths.len(), 12, "{lengths:?}");
        assert_eq!((lengths[0], lengths[11]), (&json!(0), &json!(8192)));
        let cycles = |row: &Value| row["half_round_trip_cycles"].as_f64().expect("a number");
        // Every length takes time, and the longest more than the shortest by its bytes on the link at least. In
        // between one more byte may cost less: an awaited look may find the ball a little earlier.
        assert!(rows.iter().all(|row| cycles(row) > 0.0));
        let more = cycles(&rows[11]) - cycles(&rows[0]);
        assert!(more >= 8192.0 / 16.0, "{rows:?}");
    }
}

#[test]
fn ep4_hw1_heat_equals_the_serial_solver_in_every_bit_on_any_shape() {
    for (arguments, blocks) in [
        ("--shape 1 --set grid=5x4x3", "1x1x1"),
        ("--shape 1 --set grid=7x2x3 --set tasks_per_node=3", "3x1x1"),
        ("--shape 2 --set grid=2x1x1", "2x1x1"),
        (
            "--shape 2x1x3 --set grid=7x3x8 --set tasks_per_node=2",
            "4x1x3",
        ),
        ("--shape 1x2x1x2 --set grid=6x5x7", "1x2x2"),
        ("--shape 3x2 --mesh all --set grid=10x9x8", "3x2x1"),
        ("--shape 2x2x2 --set grid=13x8x9 --link-latency 1", "2x2x2"),
    ] {
        let metrics = metrics(&heat::PROGRAM, &format!("{arguments} --set steps=9"));
        assert_eq!(metrics["blocks"], blocks, "{arguments}");
    }
}

#[test]
fn x1_heat_is_the_same_every_time() {
    let run = |more: &str| {
        let arguments = format!("--shape 2x2 --set grid=9x8x7 --set steps=4 --json {more}");
        let printed = execute(&heat::PROGRAM, &arguments);
        let result: Value = serde_json::from_str(&printed.output).expect("one JSON object");
        (result["hash"].clone(), result["metrics"].clone())
    };
    let once = run("");
    assert_eq!(once, run(""));
    assert_eq!(once, run("--set window=1 --set skip_idle=false"));
    assert_ne!(once.0, run("--set memory_read_latency=50").0);
}

#[test]
fn x1_x2_waveforms_of_programs_change_nothing() {
    let hash = |printed: &Printed| {
        let (_, hash) = printed.output.split_once("\nhash ").expect("a hash");
        hash.to_owned()
    };
    let plain = execute(&hello::PROGRAM, "--shape 2");
    for name in ["hello.vcd", "hello.fst"] {
        let path = crate::scratch(name);
        // The window begins before the end of bring-up, and ends with the run.
        let window = "--trace-window 13000:99999999 --trace-scope 0";
        let arguments = format!("--shape 2 {window} --trace {}", path.display());
        let traced = execute(&hello::PROGRAM, &arguments);
        assert_eq!(traced.status, 0, "{}", traced.error);
        let shown = format!(": {}\n", path.display());
        let said = traced.output.find("waveform of cycles 13000 to ");
        let said = said.map(|at| &traced.output[at..]).expect("what it shows");
        assert!(said.contains(&shown), "{said}");
        assert_eq!(hash(&plain), hash(&traced));
        // The first message of task 1 arrives at node 0.
        assert!(waveform::carries(&path, "hdr_dbg_o", 0x1_0001), "{name}");
    }
    let late = format!(
        "--trace-window 99999999:100000000 --trace {}",
        crate::scratch("late.vcd").display()
    );
    refused(
        &hello::PROGRAM,
        &late,
        &["--trace-window", "begins after the end"],
    );
}

#[test]
fn a_flipped_bit_in_a_halo_is_reported_with_place_and_values() {
    // In the last step one cell alone has a neighbour that is a little off: the first of task 0.
    let arguments = "--shape 3x2 --set grid=10x9x8 --set steps=3 --set flip=2";
    let printed = execute(&heat::PROGRAM, arguments);
    assert_eq!(printed.status, 1, "{}", printed.error);
    let fault = "NOT VERIFIED: 1 of 720 cells differ; cell (0, 0, 0) of task 0 is ";
    let (_, values) = printed.output.split_once(fault).expect("the fault");
    let bits: Vec<u64> = values
        .lines()
        .next()
        .expect("the values")
        .split("(0x")
        .skip(1)
        .map(|text| u64::from_str_radix(&text[..16], 16).expect("16 digits"))
        .collect();
    let [found, expected] = bits[..] else {
        panic!("two values: {values}");
    };
    let apart = f64::from_bits(found) - f64::from_bits(expected);
    // Bit 40 of a neighbour at 20 is 2^-8; a step takes a tenth of it.
    assert!((apart.abs() - 0.1 / 256.0).abs() < 1e-9, "{apart}");
    // The sooner it happens, the further it spreads.
    let printed = execute(&heat::PROGRAM, &arguments.replace("flip=2", "flip=1"));
    assert!(
        printed.output.contains("NOT VERIFIED: 7 of 720"),
        "{}",
        printed.output
    );
}

#[test]
fn ep4_work_queue_sums_what_the_workers_found() {
    for (arguments, items) in [
        ("--shape 2 --set numbers=100", 1),
        (
            "--shape 1 --set tasks_per_node=4 --set numbers=1000 --set item=7",
            143,
        ),
        // 2262 primes in one message: by rendezvous.
        ("--shape 2x1x2 --set item=1000000", 1),
        ("--shape 3x3 --set item=100", 200),
    ] {
        let metrics = metrics(&work_queue::PROGRAM, arguments);
        assert_eq!(metrics["items"], items, "{arguments}");
        let workers = metrics["workers"].as_array().expect("a list");
        let sum: u64 = workers.iter().filter_map(|w| w["items"].as_u64()).sum();
        assert_eq!(sum, items);
    }
}

#[test]
fn ep1_ep6_two_clients_of_one_program_run_side_by_side() {
    for arguments in [
        "--shape 1",
        "--shape 2x3",
        "--shape 2 --set tasks_per_node=3 --set jobs=7",
        // By rendezvous and by one packet.
        "--shape 3 --set numbers=2000",
        "--shape 3 --set numbers=4",
    ] {
        let metrics = metrics(&modules::PROGRAM, arguments);
        let cycles = |name: &str| metrics[name].as_u64().expect("a whole number");
        let apart = [cycles("mpi_cycles"), cycles("runtime_cycles")];
        assert!(apart.iter().all(|&one| one <= cycles("cycles")));
    }
    let together = metrics(&modules::PROGRAM, "--shape 3x2 --set jobs=200");
    let cycles = |name: &str| together[name].as_u64().expect("a whole number");
    let after_each_other = cycles("mpi_cycles") + cycles("runtime_cycles");
    assert!(cycles("cycles") < after_each_other, "{together}");
}

#[test]
fn ep7_ep10_ep13_collectives_take_several_endpoints_a_task() {
    for arguments in [
        "--shape 1 --set numbers=1",
        "--shape 2x2 --set endpoints=2 --set numbers=1000",
        "--shape 3x2 --set endpoints=1",
        "--shape 2 --set tasks_per_node=2 --set endpoints=4 --set numbers=3000",
    ] {
        metrics(&norm::PROGRAM, arguments);
    }
    let cycles = |endpoints: u32| {
        let arguments = format!("--shape 3x3x3 --set endpoints={endpoints}");
        let metrics = metrics(&norm::PROGRAM, &arguments);
        metrics["broadcast_cycles"].as_u64().expect("a number")
    };
    let (one, three) = (cycles(1), cycles(3));
    assert!(
        9 * three < 8 * one,
        "{three} cycles by three endpoints, {one} by one"
    );
}

#[test]
fn x5_programs_refuse_options_and_settings() {
    let hello = &hello::PROGRAM;
    refused(hello, "--shape 2x0", &["hello: --shape", "`2x0`"]);
    refused(hello, "--set grid=4", &["--set grid", "tasks_per_node"]);
    refused(hello, "--set tasks_per_node=0", &["from 1 to 16", "`0`"]);
    refused(hello, "--trace w.txt", &["--trace", "`w.txt`"]);
    let scope = "--shape 2 --trace w.vcd --trace-scope node1.u_dma";
    refused(hello, scope, &["--trace-scope", "gyre_node"]);
    refused(hello, "--shap 2", &["--shap"]);
    let heat = &heat::PROGRAM;
    refused(heat, "--set grid=4x4", &["--set grid", "24x16x16", "`4x4`"]);
    refused(heat, "--shape 5 --set grid=4x4x4", &["5x1x1", "`4x4x4`"]);
    refused(heat, "--set steps=5 --set flip=5", &["0 to 4", "`5`"]);
    refused(&ping_pong::PROGRAM, "--shape 1", &["two tasks", "--shape"]);
    refused(
        &ping_pong::PROGRAM,
        "--shape 2 --set partner=2",
        &["1 to 1"],
    );
    refused(&work_queue::PROGRAM, "--shape 1", &["worker", "--shape"]);
    let many = "--shape 1 --set tasks_per_node=8 --set endpoints=3";
    refused(&norm::PROGRAM, many, &["--set endpoints", "at most 2"]);
    let help = execute(heat, "--help");
    assert_eq!(help.status, 0);
    for words in [
        "--set <KEY=VALUE>",
        "tasks_per_node  [default: 1] [values: 1 to 16]",
        "grid  [default: 16x16x16] [values: three sizes from 1 to 256",
        "memory_jitter  [default: 0 cycles] [values: 0 to 100000 cycles]",
    ] {
        assert!(help.output.contains(words), "{}", help.output);
    }
}

/// A file with the client of the program `hello`, with what `more` says of it.
fn clients(name: &str, more: &str) -> String {
    let path = crate::scratch(&format!("clients-{name}"));
    let client = "[[application.hello.client]]\nname = \"greeters\"\n";
    std::fs::write(&path, format!("{client}{more}")).expect("the build's folder can be written");
    format!("--shape 2 --clients {}", crate::text(&path))
}

#[test]
fn ep5_a_program_runs_with_the_client_of_a_file() {
    let alone = metrics(&hello::PROGRAM, "--shape 2 --set tasks_per_node=2");
    let file = "tasks = \"all\"\nsame_node = \"shared_memory\"\n";
    let arguments = clients("all.toml", file) + " --set tasks_per_node=2";
    let shared = metrics(&hello::PROGRAM, &arguments);
    assert_eq!(alone["verified"], true);
    assert_eq!(shared["verified"], true);
    assert_ne!(alone["cycles"], shared["cycles"], "it takes another way");
}

#[test]
fn ep5_x5_clients_that_cannot_be_are_refused_before_anything_runs() {
    let hello = &hello::PROGRAM;
    refused(
        hello,
        "--clients no-such.toml",
        &["no-such.toml", "No such"],
    );
    for (name, more, words) in [
        ("field.toml", "taks = 3\n", &["line 3", "taks", "tasks"][..]),
        (
            "range.toml",
            "tasks = \"all\"\n[application.hello.client.resources]\ncounters = 0\n",
            &[":5: counters is 0, expected at least 1"],
        ),
        (
            "room.toml",
            "tasks = \"all\"\ncontexts = 17\n",
            &[
                ":1: client `greeters`: reception FIFOs 0..17",
                "the node has 16",
            ],
        ),
        (
            "owner.toml",
            "tasks = \"all\"\n[application.hello.client.resources]\nowner = 3\n",
            &["client `greeters`: owner is 3, expected 0"],
        ),
        (
            "member.toml",
            "tasks = \"all\"\n\n[[application.hello.client.geometry]]\nname = \"g\"\nnumber = 1\ntasks = [0, 2]\n",
            &[":8: task of a geometry is 2, expected less than 2, the tasks of the client"],
        ),
        (
            "algorithm.toml",
            "tasks = \"all\"\n\n[[application.hello.client.geometry]]\nname = \"g\"\nnumber = 1\ntasks = \"all\"\n\
             algorithms.broadcast = [\n\"star\",\n]\n",
            &[":10: algorithm `star` of geometry `g`, expected one of: dissemination"],
        ),
        (
            "condition.toml",
            "tasks = \"all\"\n\n[[application.hello.client.geometry]]\nname = \"g\"\nnumber = 1\ntasks = \"all\"\n\
             algorithms.broadcast = [{ algorithm = \"binomial\", when = { aligned = 3 } }]\n",
            &[
                ":9: condition aligned of an algorithm of geometry `g` is 3, expected a power of two",
            ],
        ),
        (
            "some.toml",
            "tasks = [0]\n",
            &["`hello`: expected one client, with tasks = \"all\""],
        ),
    ] {
        refused(hello, &clients(name, more), words);
    }
    let path = crate::scratch("clients-modules.toml");
    let client = "[[application.modules.client]]\nname = \"mpi\"\ntasks = \"all\"\n";
    std::fs::write(&path, client).expect("the build's folder can be written");
    let one = format!("--shape 2 --clients {}", crate::text(&path));
    let words = &["process 0 to have the clients `mpi`, `runtime`"];
    refused(&modules::PROGRAM, &one, words);
    let many = "--shape 1 --set tasks_per_node=16";
    let words = &["examples/modules.toml:", "client `mpi`", "client `runtime`"];
    refused(&modules::PROGRAM, many, words);
    let other = clients("other.toml", "tasks = \"all\"\n");
    refused(&heat::PROGRAM, &other, &["no application `heat`", "hello"]);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hardware threads of real machines: the host, and descriptions of others.

use std::fs;
use std::path::Path;

use gyre_affinity::{Host, HostError, Place, ThreadPlace as _};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Writes the topology of logical processor `cpu`: package, die if there is one, core.
fn describe(folder: &Path, cpu: usize, package: i64, die: Option<i64>, core: i64) {
    let topology = folder.join(format!("cpu{cpu}/topology"));
    fs::create_dir_all(&topology).expect("a folder");
    let write = |name: &str, number: i64| {
        fs::write(topology.join(name), format!("{number}\n")).expect("a file");
    };
    write("physical_package_id", package);
    write("core_id", core);
    if let Some(die) = die {
        write("die_id", die);
    }
}

#[test]
fn af1_a_thread_of_this_machine_is_found_where_it_is_pinned() {
    let host = Host::discover().expect("Linux describes its processors");
    let all = sched_getaffinity(None).expect("the thread has an affinity");
    let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    for cpu in allowed {
        let known = host.clone();
        // A thread of its own, whose affinity ends with it.
        let pinned = std::thread::spawn(move || {
            let mut one = CpuSet::new();
            one.set(cpu);
            sched_setaffinity(None, &one).expect("an allowed processor");
            (known.affinity(), known.thread_place())
        });
        let (found, place) = pinned.join().expect("it ends");
        let found = found.expect("it is known");
        assert_eq!(place, Ok(found.place), "it asks for its own");
        assert_eq!((found.cpu, found.pinned), (cpu, true));
        assert_eq!(Some(&found.place), host.places().get(&cpu));
    }
    let here = host.affinity().expect("it is known");
    assert_eq!(here.pinned, all.count() == 1);
    assert!(all.is_set(here.cpu));
}

#[test]
fn af1_packages_dies_cores_and_threads_of_a_description() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    // Two packages; the first of two dies. Numbers leave gaps, threads of a core are far apart.
    for (cpu, package, die, core) in [
        (0, 0, 0, 0),
        (1, 0, 0, 4),
        (2, 0, 3, 0),
        (3, 2, 0, 9),
        (4, 0, 0, 0),
        (5, 0, 0, 4),
        (12, 2, 0, 9),
    ] {
        describe(path, cpu, package, Some(die), core);
    }
    // Off line, and no processors at all.
    fs::create_dir_all(path.join("cpu13")).expect("a folder");
    fs::create_dir_all(path.join("cpufreq/topology")).expect("a folder");
    let host = Host::read(path).expect("it is complete");
    let place = |processor, module, core, thread| Place {
        processor,
        module,
        core,
        thread,
    };
    let expected = [
        (0, place(0, 0, 0, 0)),
        (1, place(0, 0, 1, 0)),
        (2, place(0, 1, 0, 0)),
        (3, place(1, 0, 0, 0)),
        (4, place(0, 0, 0, 1)),
        (5, place(0, 0, 1, 1)),
        (12, place(1, 0, 0, 1)),
    ];
    assert_eq!(host.places(), &expected.into_iter().collect());
}

#[test]
fn af1_a_machine_without_dies_has_one_module_a_processor() {
    let folder = tempfile::tempdir().expect("a folder");
    for cpu in 0..4 {
        describe(folder.path(), cpu, cpu as i64 / 2, None, cpu as i64 % 2);
    }
    let host = Host::read(folder.path()).expect("it is complete");
    assert!(host.places().values().all(|place| place.module == 0));
    assert_eq!(host.places()[&3].processor, 1);
}

#[test]
fn af1_missing_host_data_is_an_error_with_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    assert!(matches!(
        Host::read(&path.join("nothing")),
        Err(HostError::Read { .. })
    ));
    describe(path, 0, 0, Some(0), 0);
    let core = path.join("cpu0/topology/core_id");
    fs::write(&core, "first\n").expect("a file");
    let error = Host::read(path).expect_err("no number").to_string();
    assert_eq!(
        error,
        format!("{}: `first`, expected a whole number", core.display())
    );
    fs::remove_file(&core).expect("it is there");
    let error = Host::read(path).expect_err("no file").to_string();
    assert!(
        error.starts_with(&format!("{}: ", core.display())),
        "{error}"
    );
}

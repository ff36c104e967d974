// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration files: what they give, and what is refused with file, line, field and value (EP-5, X-5).

use gyre_driver::{
    AckMethod, Client, ClientConfig, ConfigError, Configuration, Error, Resources, TaskId,
};
use gyre_firmware::Parameters;
use gyre_layout::Coord;
use gyre_testkit::{Double, config};

const TWO: &str = r#"
[[application.hello.client]]
name = "mpi"
tasks = "all"
contexts = 2
eager_limit = 8192

[application.hello.client.resources]
injection_per_context = 2
injection_ring = 4096
slots_per_process = 1

[application.hello.client.ack]
method = "coalesce"
threshold = 3

[[application.hello.client]]
name = "shmem"
tasks = [3, 1]

[application.hello.client.resources]
injection_first = 8
remote_get_first = 20
reception_first = 4
wake_first = 4
slot_first = 24
"#;

fn nodes(numbers: &[u8]) -> Vec<Coord> {
    numbers.iter().map(|&n| Coord([n, 0, 0, 0, 0])).collect()
}

#[test]
fn ep5_an_application_gets_its_clients_with_tasks_and_resources() {
    let configuration = Configuration::from_toml("gyre.toml", TWO).expect("valid");
    assert_eq!(configuration.applications().collect::<Vec<_>>(), ["hello"]);
    let nodes = nodes(&[0, 0, 1, 1]);
    let clients = configuration.clients("hello", &nodes, 3).expect("valid");
    let [mpi, shmem] = &clients[..] else {
        panic!("process 3 is in both");
    };
    assert_eq!((mpi.name.as_str(), mpi.id, mpi.contexts), ("mpi", 0, 2));
    assert_eq!((mpi.task, mpi.tasks.len()), (TaskId(3), 4));
    assert_eq!(mpi.eager_limit, 8192);
    assert_eq!(mpi.ack.method, AckMethod::Coalesce);
    assert_eq!(mpi.ack.threshold, 3);
    assert_eq!(
        mpi.resources,
        Resources {
            injection_per_context: 2,
            injection_ring: 4096,
            slots_per_process: 1,
            ..Resources::default()
        }
    );
    assert_eq!((shmem.id, shmem.contexts), (1, 1));
    assert_eq!((shmem.task, shmem.tasks.len()), (TaskId(0), 2));
    assert_eq!(
        configuration
            .clients("hello", &nodes, 0)
            .expect("valid")
            .len(),
        1,
        "process 0 is no task of shmem"
    );
}

#[test]
fn ep5_ep6_clients_of_a_file_open_side_by_side() {
    let configuration = Configuration::from_toml("gyre.toml", TWO).expect("valid");
    let machine = Double::new(2, 1);
    let places = nodes(&[0, 0, 1, 1]);
    let mut contexts = Vec::new();
    for process in 0..4 {
        let platform = machine.process(process as usize / 2);
        for config in configuration
            .clients("hello", &places, process)
            .expect("valid")
        {
            let client = Client::create(&platform, config).expect("the node has the resources");
            for offset in 0..client.contexts() {
                contexts.push(client.create_context(offset).expect("free"));
            }
        }
    }
    assert_eq!(contexts.len(), 10);
    for context in contexts {
        context.destroy().expect("at rest");
    }
}

#[test]
fn x5_wrong_files_are_refused_with_line_field_and_value() {
    for (from, to, said) in [
        ("contexts = 2", "contexts = 0", "gyre.toml:5: contexts is 0"),
        (
            "injection_ring = 4096",
            "injection_ring = 5000",
            "gyre.toml:10: injection_ring is 5000, expected a power of two",
        ),
        (
            "slots_per_process = 1",
            "owner = 16",
            "gyre.toml:11: owner is 16, expected 0 to 15",
        ),
        (
            "injection_per_context = 2",
            "injection_per_context = 0",
            "gyre.toml:9: injection_per_context is 0",
        ),
        (
            "name = \"shmem\"",
            "name = \"mpi\"",
            "gyre.toml:18: name is `mpi`",
        ),
        ("threshold = 3", "threshold = 0", "ack is"),
    ] {
        let text = TWO.replace(from, to);
        let error = Configuration::from_toml("gyre.toml", &text).expect_err(to);
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.to_string().starts_with("gyre.toml:"), "{error}");
    }
    for (from, to, said) in [
        ("contexts = 2", "contexts = 256", "line 5"),
        ("contexts = 2", "context = 2", "unknown field `context`"),
        ("tasks = \"all\"", "tasks = \"some\"", "a list of processes"),
        ("name = \"mpi\"", "", "missing field `name`"),
        ("method = \"coalesce\"", "method = \"never\"", "line 14"),
        ("contexts = 2", "contexts = = 2", "TOML parse error"),
    ] {
        let text = TWO.replace(from, to);
        let error = Configuration::from_toml("gyre.toml", &text).expect_err(to);
        assert!(matches!(error, ConfigError::Toml { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.to_string().starts_with("gyre.toml: "), "{error}");
    }
}

#[test]
fn x5_what_does_not_fit_the_application_is_refused() {
    let places = nodes(&[0, 0, 1, 1]);
    let error = |text: &str, application: &str, process| {
        Configuration::from_toml("gyre.toml", text)
            .and_then(|configuration| configuration.clients(application, &places, process))
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        error(TWO, "hallo", 0),
        "gyre.toml: no application `hallo`, expected one of: hello"
    );
    assert_eq!(
        error(TWO, "hello", 4),
        "process 4 of an application of 4 processes"
    );
    let text = TWO.replace("[3, 1]", "[3, 4]");
    assert!(error(&text, "hello", 0).starts_with("gyre.toml:19: tasks is 4, expected less than 4"));
    let text = TWO.replace("[3, 1]", "[3, 3]");
    assert!(error(&text, "hello", 0).starts_with("gyre.toml:19: tasks is 3, expected each"));
    for (from, to, said) in [
        (
            "injection_first = 8",
            "injection_first = 7",
            "gyre.toml:17: client `shmem` needs injection FIFOs 7..8",
        ),
        (
            "remote_get_first = 20",
            "remote_get_first = 2",
            "needs remote-get injection FIFOs 2..3",
        ),
        (
            "reception_first = 4",
            "reception_first = 3",
            "which overlap 0..4 of client `mpi`",
        ),
        ("wake_first = 4", "wake_first = 3", "needs wake groups 3..4"),
        (
            "slot_first = 24",
            "slot_first = 17",
            "needs base slots 17..21",
        ),
    ] {
        let said_now = error(&TWO.replace(from, to), "hello", 0);
        assert!(said_now.contains(said), "{said_now}");
    }
}

#[test]
fn ep2_a_node_without_the_resources_refuses_the_client() {
    let text = TWO.replace("contexts = 2", "contexts = 9");
    let text = text
        .split("[[application.hello.client]]\nname = \"shmem\"")
        .next();
    let configuration =
        Configuration::from_toml("gyre.toml", text.expect("a part")).expect("valid");
    let config = configuration
        .clients("hello", &nodes(&[0, 0]), 0)
        .expect("valid")
        .remove(0);
    let machine = Double::new(1, 1);
    assert!(matches!(
        Client::create(&machine.process(0), config).err(),
        Some(Error::Resources { .. })
    ));
}

const NODE: Parameters = Parameters {
    dimensions: 3,
    flit_bytes: 16,
    injection_fifos: 32,
    reception_fifos: 16,
    slots: 32,
    axi_masters: 2,
    axi_bytes: 64,
    groups: 1,
};

#[test]
fn ep2_a_resource_of_which_a_node_has_one_too_few_is_named() {
    type Set = fn(&mut Resources, u16);
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0, 0]);
    // The last numbers that fit two processes, and what is said of the next ones.
    let limits: [(u16, &str, Set); 5] = [
        (30, "injection FIFOs 31..33", |r, first| {
            r.injection_first = first
        }),
        (14, "reception FIFOs 15..17", |r, first| {
            r.reception_first = first
        }),
        (30, "remote-get injection FIFOs 31..33", |r, first| {
            r.remote_get_first = first
        }),
        (14, "wake groups 15..17", |r, first| {
            r.wake_first = first as u8
        }),
        (24, "base slots 25..33", |r, first| r.slot_first = first),
    ];
    for (last, said, set) in limits {
        let create = |first| {
            let mut resources = Resources::default();
            set(&mut resources, first);
            let config = gyre_testkit::config(&tasks, 0, resources);
            Client::create(&machine.process(0), config).map(drop)
        };
        assert_eq!(create(last), Ok(()), "{said}");
        let error = create(last + 1).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
    // What gets of others are served by is none of the FIFOs that contexts inject through.
    for (first, overlaps) in [(1, true), (2, false)] {
        let resources = Resources {
            remote_get_first: first,
            ..Resources::default()
        };
        let config = gyre_testkit::config(&tasks, 0, resources);
        let refused = Client::create(&machine.process(0), config).map(drop);
        let field = matches!(
            refused,
            Err(Error::Config {
                field: "remote_get_first",
                value: 1,
                ..
            })
        );
        assert_eq!(
            (field, refused.is_err()),
            (overlaps, overlaps),
            "{refused:?}"
        );
    }
}

#[test]
fn ep5_x5_every_node_of_an_application_is_looked_at() {
    // Both clients are on node 1 alone, or too many processes are.
    let text = TWO
        .replace("[3, 1]", "[2, 3]")
        .replace("reception_first = 4", "reception_first = 3");
    let configuration = Configuration::from_toml("gyre.toml", &text).expect("valid");
    let overlap = configuration.clients("hello", &nodes(&[0, 0, 1, 1]), 0);
    let overlap = overlap.expect_err("an overlap").to_string();
    let said = "gyre.toml:17: client `shmem` needs reception FIFOs 3..5";
    assert!(overlap.starts_with(said), "{overlap}");
    // A client without tasks on a node overlaps no other there.
    let text = text.replace("tasks = \"all\"", "tasks = [0, 1]");
    let configuration = Configuration::from_toml("gyre.toml", &text).expect("valid");
    let apart = configuration.clients("hello", &nodes(&[0, 0, 1, 1]), 2);
    assert_eq!(apart.expect("no overlap").len(), 1);

    let mpi = TWO
        .split("[[application.hello.client]]\nname = \"shmem\"")
        .next();
    let configuration = Configuration::from_toml("gyre.toml", mpi.expect("a part")).expect("valid");
    let room = |on_1: usize| {
        let mut places = vec![0];
        places.resize(1 + on_1, 1);
        configuration.check_room("hello", &nodes(&places), &NODE)
    };
    assert_eq!(room(4), Ok(()));
    let error = room(5)
        .expect_err("20 injection FIFOs reach those of gets")
        .to_string();
    assert!(
        error.starts_with("gyre.toml:2: client `mpi`: remote_get_first is 16"),
        "{error}"
    );
}

#[test]
fn ep2_a_context_that_cannot_be_created_leaves_nothing_behind() {
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0]);
    let client = |id: u8, reception_first| {
        let resources = Resources {
            injection_first: 4 * u16::from(id.min(2)),
            remote_get_first: 16 + u16::from(id.min(2)),
            reception_first,
            ..Resources::default()
        };
        let config = ClientConfig {
            id,
            ..config(&tasks, 0, resources)
        };
        Client::create(&machine.process(0), config).expect("the node has the resources")
    };
    let (first, second, third) = (client(1, 0), client(2, 0), client(3, 5));
    let context = first.create_context(0).expect("free");
    // Its reception FIFO is in use, its injection FIFOs are not.
    let refused = second.create_context(0).err();
    assert!(matches!(refused, Some(Error::SetUp { .. })), "{refused:?}");
    let other = third.create_context(0).expect("the FIFOs are free again");
    for context in [context, other] {
        context.destroy().expect("at rest");
    }
    second
        .create_context(0)
        .expect("nothing is in use any more");
}

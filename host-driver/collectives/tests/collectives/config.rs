// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries of configuration files (EP-5, EP-7, EP-8, X-5).

use crate::world::{self, World, ends, note};
use gyre_collectives::{
    Algorithm, Blocks, Collective, Error, Geometry, Query, Request, RoutesTaken, Sharing,
};
use gyre_driver::{BufferRange, ConfigError, Configuration, Platform as _};

const FILE: &str = r#"
[[application.hello.client]]
name = "mpi"
tasks = "all"
contexts = 2

[[application.hello.client.geometry]]
name = "everybody"
number = 1
tasks = "all"

[[application.hello.client.geometry]]
name = "middle"
number = 2
tasks = { first = 1, last = 3 }
contexts = 2

[application.hello.client.geometry.algorithms]
broadcast = ["binomial"]
allreduce = ["there_and_back", "ring"]

[[application.hello.client.geometry]]
name = "chosen"
number = 3
tasks = [3, 0]

[[application.hello.client.geometry]]
name = "endpoints"
number = 4
endpoints = [[2, 1], [0, 0], [2, 0]]
"#;

#[test]
fn ep5_ep7_ep8_geometries_of_a_file_work_with_its_algorithms() {
    let world = World::new(&[0, 1, 2, 1], 2, 21);
    let configuration = Configuration::from_toml("gyre.toml", FILE).expect("valid");
    let configs = configuration.geometries("hello", "mpi");
    let made = configs
        .iter()
        .map(|g| Geometry::from_config(&world.clients[0], g));
    let geometries: Vec<_> = made.map(|made| made.expect("valid")).collect();
    let members = |geometry: &Geometry| -> Vec<(u32, u8)> {
        let list = geometry.endpoints().iter();
        list.map(|e| (e.task().0, e.context_offset())).collect()
    };
    assert_eq!(geometries.len(), 4);
    assert_eq!(members(&geometries[0]), [(0, 0), (1, 0), (2, 0), (3, 0)]);
    assert_eq!(
        members(&geometries[1]),
        [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    );
    assert_eq!(members(&geometries[2]), [(3, 0), (0, 0)]);
    assert_eq!(members(&geometries[3]), [(2, 1), (0, 0), (2, 0)]);
    assert_eq!(geometries[3].name(), "endpoints");
    let choose = |geometry: &Geometry, collective, bytes| {
        let query = Query {
            geometry,
            collective,
            root: 0,
            bytes: Some(bytes),
            alignment: 1,
            reduction: gyre_collectives::ReduceKind::BuiltIn(
                gyre_collectives::DataType::U8,
                gyre_collectives::ReduceOp::Sum,
            ),
            routes: RoutesTaken::default(),
            sharing: Sharing::default(),
        };
        geometry
            .algorithms()
            .choose(&query, None)
            .expect("one is valid")
    };
    // Several endpoints at the root of long data: unless the file says otherwise.
    let long = 1 << 20;
    assert_eq!(
        choose(&geometries[3], Collective::Broadcast, long),
        Algorithm::EndpointParallel
    );
    assert_eq!(
        choose(&geometries[3], Collective::Broadcast, 8),
        Algorithm::Binomial
    );
    assert_eq!(
        choose(&geometries[1], Collective::Broadcast, long),
        Algorithm::Binomial
    );
    assert_eq!(
        choose(&geometries[0], Collective::Allreduce, long),
        Algorithm::Ring
    );
    assert_eq!(
        choose(&geometries[1], Collective::Allreduce, long),
        Algorithm::ThereAndBack
    );
    for geometry in &geometries {
        let members = world.join(geometry);
        let ends = ends(members.len());
        let sent: Vec<_> = (0..geometry.tasks().len())
            .map(|p| vec![p as u8; 3])
            .collect();
        let mut results = Vec::new();
        for (rank, member) in members.iter().enumerate() {
            let task = geometry.tasks()[member.position()];
            let send = world.buffer(task, &sent[member.position()]);
            let receive = world.buffer(task, &vec![9; 3 * sent.len()]);
            // Only a leader's buffers count.
            if rank as u32 == geometry.ranks_of(member.position())[0] {
                results.push(receive.clone());
            }
            let request = Request::allgather(Some(send), receive, Blocks::Equal(3));
            member.post(request, note(&ends, rank)).expect("valid");
        }
        world.run(&ends);
        for result in results {
            assert_eq!(
                world::contents(&result),
                sent.concat(),
                "{}",
                geometry.name()
            );
        }
    }
}

#[test]
fn ep5_x5_geometries_that_make_no_sense_are_refused_with_their_place() {
    let client = "[[application.a.client]]\nname = \"mpi\"\ntasks = \"all\"\ncontexts = 2\n";
    let geometry = "[[application.a.client.geometry]]\nname = \"g\"\n";
    let parse = |rest: &str| {
        let text = format!("{client}{geometry}{rest}");
        Configuration::from_toml("gyre.toml", &text)
    };
    let listed = |list: &str| format!("number = 1\ntasks = \"all\"\nalgorithms.barrier = {list}\n");
    for (rest, word) in [
        (listed("[3]").as_str(), "the name of an algorithm or"),
        (&listed("[{ when = {} }]"), "algorithm"),
        (&listed("[{ algorithm = \"affinity\", wen = {} }]"), "wen"),
        (
            &listed("[\n\"affinity\",\n{ algorithm = \"affinity\", when = { at_least = -1 } }]"),
            "gyre.toml:11: when is at_least = -1, expected a number from 0 on or a word",
        ),
        ("number = 1\n", "either tasks"),
        (
            "number = 1\ntasks = \"all\"\nendpoints = [[0, 0]]\n",
            "either tasks",
        ),
        (
            "number = 1\ncontexts = 2\nendpoints = [[0, 0]]\n",
            "either tasks",
        ),
        ("number = 1\ntasks = \"most\"\n", "a list of tasks"),
        ("number = 70000\ntasks = \"all\"\n", "70000"),
        ("number = 1\ntasks = \"all\"\nrank = 1\n", "rank"),
        (
            &format!("number = 1\ntasks = \"all\"\n{geometry}number = 1\ntasks = \"all\"\n"),
            "no other",
        ),
    ] {
        let error: ConfigError = parse(rest).expect_err(rest);
        let text = error.to_string();
        assert!(
            text.contains("gyre.toml") && text.contains(word),
            "{rest}: {text}"
        );
    }
    let world = World::new(&[0, 1], 2, 1);
    let when = |condition: &str| {
        let algorithm = "algorithm = \"binomial\"";
        format!(
            "tasks = \"all\"\nalgorithms.broadcast = [{{ {algorithm}, when = {{ {condition} }} }}]\n"
        )
    };
    for (rest, word) in [
        ("tasks = [0, 2]\n", "task 2"),
        ("tasks = [0]\ncontexts = 3\n", "context"),
        ("tasks = []\n", "no endpoint"),
        ("endpoints = [[0, 1], [0, 1]]\n", "twice"),
        (
            "tasks = \"all\"\nalgorithms.bcast = [\"ring\"]\n",
            "`bcast`",
        ),
        (
            "tasks = \"all\"\nalgorithms.broadcast = [\"star\"]\n",
            "`star`",
        ),
        (
            "tasks = \"all\"\nalgorithms.broadcast = [\"pairwise\"]\n",
            "no such",
        ),
        (&when("size = 3"), "condition `size`"),
        (
            &when("multiple_of = 0"),
            "multiple_of of an algorithm of geometry `g` is 0, expected a number of bytes, at least 1",
        ),
        (&when("aligned = 12"), "is 12, expected a power of two"),
        (
            &when("at_most = \"much\""),
            "is `much`, expected a number of bytes",
        ),
        (
            &when("endpoints = \"prime\""),
            "is `prime`, expected \"even\", \"odd\" or \"power_of_two\"",
        ),
        (
            &when("tasks = \"odd\""),
            "is `odd`, expected \"power_of_two\"",
        ),
    ] {
        let configuration = parse(&format!("number = 1\n{rest}")).expect("the driver accepts it");
        let config = &configuration.geometries("a", "mpi")[0];
        let error = Geometry::from_config(&world.clients[0], config).expect_err(rest);
        let text = error.to_string();
        assert!(matches!(error, Error::Configured { .. }));
        assert!(
            (text.contains("gyre.toml:5") || text.contains("gyre.toml:9")) && text.contains(word),
            "{rest}: {text}"
        );
        // Errors of a list name its line.
        assert_eq!(
            text.contains("gyre.toml:9"),
            rest.contains("algorithms"),
            "{text}"
        );
    }
}

#[test]
fn ep8_the_list_of_a_file_selects_algorithms_by_condition() {
    use Algorithm as A;
    let text = r#"
[[application.a.client]]
name = "mpi"
tasks = "all"
contexts = 2

[[application.a.client.geometry]]
name = "four"
number = 1
tasks = "all"

[application.a.client.geometry.algorithms]
allreduce = [
    { algorithm = "ring", when = { aligned = 64, multiple_of = 24, at_most = 4800 } },
    { algorithm = "there_and_back", when = { tasks = "power_of_two", at_least = 1000 } },
    { algorithm = "recursive_doubling" },
    "ring",
]
broadcast = [{ algorithm = "binomial", when = { endpoints = "odd" } }]
"#;
    let world = World::new(&[0, 1, 2, 3], 2, 3);
    let configuration = Configuration::from_toml("gyre.toml", text).expect("valid");
    let config = &configuration.geometries("a", "mpi")[0];
    let geometry = Geometry::from_config(&world.clients[0], config).expect("valid");
    let members = world.join(&geometry);
    let algorithm = |bytes: usize, alignment| {
        let memory = world.contexts[0][0].platform().alloc(bytes, 64);
        let buffer = BufferRange::whole(memory.expect("there is memory"));
        let sum = (
            gyre_collectives::DataType::U64,
            gyre_collectives::ReduceOp::Sum,
        );
        let request = Request::allreduce(sum, None, buffer).aligned(alignment);
        members[0].algorithm(&request)
    };
    for (bytes, alignment, expected) in [
        (2400, 64, A::Ring),
        (2400, 32, A::ThereAndBack),
        (2408, 64, A::ThereAndBack),
        (4824, 64, A::ThereAndBack),
        (992, 64, A::RecursiveDoubling),
        (960, 64, A::Ring),
    ] {
        assert_eq!(
            algorithm(bytes, alignment),
            Ok(expected),
            "{bytes} {alignment}"
        );
    }
    // Nothing of the list is wanted for a broadcast on an even number of endpoints.
    let buffer = world.buffer(gyre_driver::TaskId(0), &[0; 8]);
    let none = members[0].algorithm(&Request::broadcast(0, buffer));
    assert!(matches!(none, Err(Error::Algorithm { .. })), "{none:?}");
}

#[test]
fn ep8_x5_an_alignment_that_buffers_do_not_have_is_refused() {
    let world = World::new(&[0, 1], 1, 1);
    let geometry = Geometry::world(&world.clients[0], "two", 1, 1).expect("valid");
    let members = world.join(&geometry);
    let memory = world.contexts[0][0].platform().alloc(128, 64);
    let buffer = BufferRange::whole(memory.expect("there is memory"));
    let part = |at| buffer.part(at, 8).expect("inside");
    let sum = (
        gyre_collectives::DataType::U64,
        gyre_collectives::ReduceOp::Sum,
    );
    for (send, receive, alignment, wrong) in [
        (64, 0, 64, None),
        (64, 8, 8, None),
        (64, 8, 64, Some("receive")),
        (4, 0, 8, Some("send")),
        (64, 0, 48, Some("alignment")),
        (64, 0, 0, Some("alignment")),
    ] {
        let request = Request::allreduce(sum, Some(part(send)), part(receive)).aligned(alignment);
        let found = match members[0].algorithm(&request) {
            Ok(_) => None,
            Err(Error::Request { field, .. }) => Some(field),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(found, wrong, "{send} {receive} {alignment}");
    }
}

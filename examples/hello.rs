//! Hello World: every task makes itself known to task 0, which prints who is there.
//!
//!     cargo run --release --example hello -- --shape 2x2x2
//!
//! The steps are those of every PAMI program: a client by its name, a context of it, a callback for the
//! messages that arrive there, work posted to the context, and a loop that advances it.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre::program::{Program, Report, TASKS_PER_NODE};
use gyre::settings::Settings;
use gyre_driver::{Client, Context, Receive, SendImmediate, TaskId};
use gyre_sim::Until;
use parking_lot::Mutex;

/// The program: name, default shape, and the function that runs it.
pub const PROGRAM: Program = Program {
    name: "hello",
    about: "Every task greets task 0",
    shape: &[2, 2, 2],
    settings: &[&TASKS_PER_NODE],
    run,
};

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifier of greetings.
const GREETING: u8 = 1;

/// The greetings that a task has got, in order of arrival.
type Greetings = Arc<Mutex<Vec<(TaskId, String)>>>;

/// First phase of every task: a client, its context, and what to do with a greeting.
fn initialize(process: Process) -> Result<(Context<SimPlatform>, Greetings), Box<dyn Error>> {
    let client = Client::create(&process.platform, process.client("hello"))?;
    let context = client.create_context(0)?;
    let greetings = Greetings::default();
    let book = Arc::clone(&greetings);
    context.set_dispatch(
        GREETING,
        Box::new(move |_, arrival| {
            // A greeting fits into one packet: all of it is here already.
            let text = String::from_utf8_lossy(arrival.immediate.unwrap_or_default());
            book.lock().push((arrival.origin.task(), text.into_owned()));
            Receive::Consumed
        }),
    )?;
    Ok((context, greetings))
}

/// What task `task` of `tasks` says.
fn greeting(task: TaskId, tasks: usize) -> String {
    format!("Hello from {task} of {tasks}")
}

/// Second phase: every context is there, so that messages find one. Gives the greetings that have come.
fn greet(
    process: Process,
    (context, greetings): (Context<SimPlatform>, Greetings),
) -> Result<Vec<(TaskId, String)>, Box<dyn Error>> {
    let tasks = context.tasks().len();
    let destination = context.endpoint(TaskId(0), 0)?;
    context.send_immediate(&SendImmediate {
        data: greeting(process.task, tasks).as_bytes(),
        ..SendImmediate::new(destination, GREETING)
    })?;
    // An immediate message leaves at the call where nothing waits before it; all else happens in `advance`.
    let expected = if process.task == TaskId(0) { tasks } else { 0 };
    let greeted = || greetings.lock().len() == expected;
    context.advance_until(|| greeted() && context.is_at_rest())?;
    context.destroy()?;
    let heard = std::mem::take(&mut *greetings.lock());
    Ok(heard)
}

fn run(spec: &MachineSpec, settings: &Settings) -> Result<Report, RunError> {
    let per_node = settings.get(&TASKS_PER_NODE);
    let placement = Placement::filled(per_node, &spec.config.dims)?;
    let mut job = Job::of(spec, &placement)?;
    let (contexts, ready) = job.each("initializes", Until::Done, initialize)?;
    let (greetings, ended) = job.each_with("greets", Until::Quiet, contexts, greet)?;
    job.finish()?;

    let tasks = greetings.len();
    let expected = (0..tasks as u32).map(|n| (TaskId(n), greeting(TaskId(n), tasks)));
    let mut found = greetings[0].clone();
    found.sort();
    let check = match found.into_iter().eq(expected) {
        true => Ok(()),
        false => Err(format!("expected one greeting of each of {tasks} tasks")),
    };
    let lines = greetings[0].iter().map(|(_, text)| text.as_str());
    Ok(Report::new(ended.clone())
        .param("tasks_per_node", per_node)
        .metric("tasks", tasks)
        .metric("cycles", ended.cycles - ready.cycles)
        .check(check)
        .picture(lines.collect::<Vec<_>>().join("\n")))
}

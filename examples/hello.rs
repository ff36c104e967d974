// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hello World: every task makes itself known to task 0, which prints who is there.
//!
//!     cargo run --release --example hello -- --shape 2x2x2
//!
//! It does what every PAMI program does: says where messages that arrive shall go, sends some, and advances its context
//! until what it waits for has come.

use gyre::prelude::*;

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new("hello", "Every task greets task 0", &[2; 3], run);

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifier of greetings.
const GREETING: u8 = 1;

/// Greeting of task `task` of `tasks`.
fn greeting(task: TaskId, tasks: usize) -> String {
    format!("Hello from {task} of {tasks}")
}

/// Runs a task: all contexts exist when it begins. Returns the greetings that it has received.
fn greet(task: &Task) -> TaskResult<Vec<String>> {
    let (context, tasks) = (task.context(), task.count());
    let inbox = Inbox::create(context, GREETING)?;
    let text = greeting(task.id(), tasks);
    // An immediate message is copied, and leaves at the call where nothing waits before it.
    let message = SendImmediate::new(context.endpoint(TaskId(0), 0)?, GREETING);
    context.send_immediate(&message.with_data(text.as_bytes()))?;
    let expected = if task.id() == TaskId(0) { tasks } else { 0 };
    // All else happens while the context is advanced, as here until the messages have come.
    let mut messages = inbox.take(expected)?;
    messages.sort_by_key(|message| message.origin.task());
    Ok(messages.iter().map(Message::text).collect())
}

/// Runs the tasks on the machine, and checks what they return.
fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let (greetings, report) = launch.run(greet)?;
    let all = (0..).map(TaskId).take(launch.tasks());
    let expected = all.map(|task| greeting(task, launch.tasks()));
    let greeted = expected.eq(greetings[0].clone());
    let report = report.check_that(greeted, "one greeting of each task");
    Ok(report.picture(greetings[0].join("\n")))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ping-pong: two tasks send a message to and fro, for many lengths.
//!
//!     cargo run --release --example ping_pong -- --shape 4x4x4 --set partner=63
//!
//! Both ends do the same: they send an active message of any length, which the driver sends in one packet, eagerly or by
//! rendezvous, and take the one that comes back. Every byte is checked at both ends.

use gyre::prelude::*;

const LONGEST: Setting<usize> =
    Setting::number("longest", "bytes", 65_536, (0, 16 << 20), "longest message");
const ROUNDS: Setting<u32> =
    Setting::number("rounds", "", 4, (1, 10_000), "round trips of each length");
const PARTNER: Setting<u32> = Setting {
    key: "partner",
    about: "task that plays against task 0",
    unit: "",
    default: Unless::Value(1),
    values: Values::Such(|task| task > 0, "a task from 1 to the last"),
};

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new(
    "ping_pong",
    "Two tasks send a message to and fro",
    &[2; 3],
    run,
)
.with_settings(&[&LONGEST, &ROUNDS, &PARTNER]);

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifier of the ball.
const BALL: u8 = 1;

/// A game: lengths of the ball in bytes, times that it comes back in each, and the second player.
#[derive(Clone)]
struct Game {
    lengths: Vec<usize>,
    rounds: u32,
    partner: TaskId,
}

/// The bytes of the ball: different in every flight.
fn ball(length: usize, flight: u32) -> Vec<u8> {
    (0..length)
        .map(|i| (i as u32 * 31 + i as u32 / 251 + flight * 7) as u8)
        .collect()
}

/// Plays all lengths: picoseconds of the rounds of each. The tasks that do not play look on.
fn play(task: &Task, game: &Game) -> TaskResult<Vec<u64>> {
    let other = match task.id() {
        TaskId(0) => game.partner,
        id if id == game.partner => TaskId(0),
        _ => return Ok(Vec::new()),
    };
    let context = task.context();
    let inbox = Inbox::create(context, BALL)?;
    let other = context.endpoint(other, 0)?;
    let send = |bytes: &[u8]| {
        let data = BufferRange::copied(task.platform(), bytes)?;
        context.send(SendMessage::new(other, BALL, data))
    };
    let catch = |bytes: &[u8]| check(&inbox.next()?.data, bytes);
    let mut times = Vec::with_capacity(game.lengths.len());
    for &length in &game.lengths {
        let begin = task.platform().now_ps();
        for round in 0..game.rounds {
            let [there, back] = [0, 1].map(|flight| ball(length, 2 * round + flight));
            if task.id() == TaskId(0) {
                send(&there)?;
                catch(&back)?;
            } else {
                catch(&there)?;
                send(&back)?;
            }
        }
        times.push(task.platform().now_ps() - begin);
    }
    Ok(times)
}

/// Compares a ball with what it must be.
fn check(found: &[u8], expected: &[u8]) -> TaskResult<()> {
    if found.len() != expected.len() {
        return Err(format!("{} bytes, expected {}", found.len(), expected.len()).into());
    }
    match (0..found.len()).find(|&i| found[i] != expected[i]) {
        None => Ok(()),
        Some(i) => Err(format!(
            "byte {i} of {} is {:#04x}, expected {:#04x}",
            found.len(),
            found[i],
            expected[i]
        )
        .into()),
    }
}

fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    if launch.tasks() < 2 {
        let text = "two tasks are needed: give a larger --shape or --set tasks_per_node";
        return Err(UsageError::Combination(text.into()).into());
    }
    let last = launch.tasks() as u32 - 1;
    let partner = launch.get(&PARTNER);
    if partner > last {
        let expected = format!("a task from 1 to {last}");
        return Err(PARTNER.refuse(partner, expected).into());
    }
    let longest = launch.get(&LONGEST);
    let lengths = std::iter::once(0).chain((3..).map(|power| 1 << power));
    let game = Game {
        lengths: lengths.take_while(|&length| length <= longest).collect(),
        rounds: launch.get(&ROUNDS),
        partner: TaskId(partner),
    };
    let playing = game.clone();
    let (times, report) = launch.run(move |task| play(task, &playing))?;

    let flights = u64::from(2 * game.rounds);
    let rows = game.lengths.iter().zip(&times[0]).map(|(&length, &ps)| {
        let cycles = ps as f64 / (flights * launch.spec().config.cycle_ps) as f64;
        json!({
            "message_bytes": length,
            "half_round_trip_cycles": cycles,
            "bytes_per_cycle": length as f64 / cycles,
        })
    });
    Ok(report
        .param("rounds", game.rounds)
        .param("partner", partner)
        .metric("flights", flights * game.lengths.len() as u64)
        // A wrong byte would have ended the program.
        .check(Ok(()))
        .metric("lengths", rows.collect::<Vec<_>>()))
}

//! `gyre why`: where the time of a program went.

use clap::Args;
use gyre_driver::Op;
use gyre_sim::Recorder;
use gyre_timeline::Messages;
use gyre_why::{Analysis, Kind};
use indicatif::ProgressBar;

use crate::cli::CommandError;
use crate::workload::{Workload, WorkloadArgs};
use gyre::outcome::Outcome;

/// Arguments of `gyre why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The program and its machine.
    #[command(flatten)]
    pub workload: WorkloadArgs,
}

/// Runs the program and says where its time went.
pub fn run(args: &WhyArgs) -> Result<Outcome, CommandError> {
    let mut workload = Workload::prepare(&args.workload)?;
    let recorder = Recorder::default();
    workload.goal.spec.config.recorder = Some(recorder.clone());
    let spec = workload.goal.spec.attempt(None);
    let loaded = workload
        .goal
        .load(&spec, workload.program.clone(), &ProgressBar::hidden())?;
    let report = loaded.run()?;
    let mut rec = recorder.take().remove(0);
    rec.operations = Op::ALL.iter().map(|op| op.key()).collect();
    let t = std::time::Instant::now();
    let m = Messages::of(&rec);
    println!("messages {} {:?}", m.all().len(), t.elapsed());
    let a = Analysis::of(&rec, &m).unwrap();
    println!("analysis {:?}", t.elapsed());
    println!(
        "{} {} {} {}",
        report.makespan_ps,
        a.to_ps - a.from_ps,
        a.path.len(),
        a.path_times().iter().sum::<u64>()
    );
    println!("{}", a.verdict);
    let total = a.path_times().iter().sum::<u64>() as f64;
    for (k, t) in Kind::ALL.iter().zip(a.path_times()) {
        println!("{:20} {:12} {:.4}", k.name(), t, t as f64 / total);
    }
    println!("ranks");
    for (k, t) in Kind::ALL.iter().zip(a.rank_times()) {
        println!(
            "{:20} {:12} {:.4}",
            k.name(),
            t,
            t as f64 / total / a.ranks.len() as f64
        );
    }
    for r in &a.ranks {
        println!("{} {:?} {}", r.rank, r.times, r.times.iter().sum::<u64>());
    }
    for c in &a.causes {
        println!("{:10} {}", c.gain_ps / 2000, c.text);
    }
    if std::env::var("P").is_ok() {
        for s in &a.path {
            println!("{} {} {:?}", s.from_ps, s.to_ps - s.from_ps, s);
        }
    }
    std::process::exit(0);
}

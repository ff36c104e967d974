// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are recorded for the command itself.

use gyre::machine_file::MachineSpec;
use gyre::timeline::with_operations;
use gyre_sim::Recorder;
use gyre_timeline::Recording;

/// Has `run` run something on a machine like `spec` that is recorded.
///
/// # Errors
/// Those of `run`.
pub(super) fn recorded<T, E>(
    spec: &MachineSpec,
    run: impl FnOnce(&MachineSpec) -> Result<T, E>,
) -> Result<(T, Recording), E> {
    let recorder = Recorder::default();
    let mut spec = spec.attempt(None);
    spec.config.recorder = Some(recorder.clone());
    let result = run(&spec)?;
    let (cycle_ps, nodes) = (spec.config.cycle_ps, spec.nodes() as u32);
    // A machine gives its events when it ends.
    let recording = recorder
        .take()
        .pop()
        .unwrap_or_else(|| Recording::empty(cycle_ps, nodes, 0, 0));
    Ok((result, with_operations(recording)))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! One core of the host for the machine and the tasks of a program, of which only one runs at a time.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The calling thread on one core, and with it the processes that it starts, as long as this lasts: a request and its answer
/// then wake nobody on another core. No other job of this kind on the host has that core.
pub struct CorePin {
    before: CpuSet,
    /// Socket with the name of the core: held until this process ends, however it ends.
    _claim: UnixDatagram,
}

impl CorePin {
    /// Takes the first core that the thread may run on and that no other job has; none where all are taken.
    pub fn claim() -> Option<Self> {
        Self::claim_named("gyre-core")
    }

    fn claim_named(name: &str) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let cores = (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core));
        let free = cores.filter_map(|core| Some((core, claimed(name, core)?)));
        let (core, claim) = free.into_iter().next()?;
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).ok()?;
        Some(Self {
            before,
            _claim: claim,
        })
    }
}

impl Drop for CorePin {
    fn drop(&mut self) {
        // A core of them may have been taken away meanwhile; the thread goes on where it is.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Binds the socket with the name of the core, in the abstract namespace; none while another job has it.
fn claimed(name: &str, core: usize) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("{name}-{core}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores() -> Vec<usize> {
        let set = sched_getaffinity(None).expect("known");
        (0..CpuSet::MAX_CPU)
            .filter(|&core| set.is_set(core))
            .collect()
    }

    #[test]
    fn x6_a_job_has_a_core_of_its_own_and_gives_it_back() {
        let name = format!("gyre-test-{}", std::process::id());
        let all = cores();
        drop(CorePin::claim_named(&name).expect("one is free"));
        assert_eq!(cores(), all);
        let mut pins = Vec::new();
        let mut taken = Vec::new();
        // A thread has one: others of this process, and other jobs, get others.
        while let Some(pin) = CorePin::claim_named(&name) {
            let [core] = cores()[..] else {
                panic!("one core, not {:?}", cores());
            };
            taken.push(core);
            sched_setaffinity(None, &pin.before).expect("as before");
            pins.push(pin);
        }
        assert_eq!(taken, all);
        drop(pins);
        assert_eq!(cores(), all);
        for core in taken {
            assert!(claimed(&name, core).is_some(), "core {core} is free again");
        }
    }
}

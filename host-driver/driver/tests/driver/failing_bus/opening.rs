// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts and regions.

use gyre_driver::{RegionRights, SendMessage, TaskId};
use gyre_testkit::{Double, Refusal};

use super::{Log, SINK, client, into, kinds, settle, sink, small};

#[test]
fn x5_a_context_that_cannot_be_opened_leaves_nothing_behind() {
    for (kind, change) in kinds() {
        let mut n = 0;
        loop {
            let machine = Double::new(2, 1);
            let peer = client(&machine, 1, change).expect("it is");
            let peer = peer.create_context(0).expect("free");
            let arrivals = sink(&peer);
            let state = || {
                (
                    machine.open_fifos(0),
                    machine.flows(0),
                    machine.allocated(0),
                )
            };
            let before = state();

            machine.refuse(0, Refusal::nth(n));
            let made = client(&machine, 0, change);
            let opened = made.as_ref().ok().map(|client| client.create_context(0));
            let refused = machine.refuse_nothing(0);
            if refused.is_empty() {
                assert!(matches!(opened, Some(Ok(_))), "{kind}: {:?}", made.err());
                break;
            }
            let failed = !matches!(opened, Some(Ok(_)));
            assert!(
                failed,
                "{kind}: access {n}, {refused:x?}, was refused, and nobody says so"
            );
            drop(opened);
            assert_eq!(
                state(),
                before,
                "{kind}: what access {n}, {refused:x?}, leaves behind"
            );

            let made = made
                .or_else(|_| client(&machine, 0, change))
                .expect("it is");
            assert_eq!(made.open_contexts(), Ok(vec![]), "{kind}: access {n}");
            let context = made.create_context(0).unwrap_or_else(|error| {
                panic!("{kind}: not after access {n}: {error}");
            });
            let log = Log::default();
            let destination = context.endpoint(TaskId(1), 0).expect("exists");
            let data = context.platform().buffer(&[7; 700]);
            let message = SendMessage {
                local_done: into(&log),
                remote_done: into(&log),
                ..SendMessage::new(destination, SINK, data)
            };
            context.send(message).expect("valid");
            settle(&machine, &[context, peer]);
            assert_eq!(*log.lock(), [Ok(()), Ok(())], "{kind}: access {n}");
            assert_eq!(*arrivals.ended.lock(), [Ok(())], "{kind}: access {n}");
            n += 1;
        }
        assert!(n > 20, "{kind}: {n} accesses");
    }
}

#[test]
fn x5_a_region_that_cannot_be_created_leaves_nothing_behind() {
    let mut n = 0;
    loop {
        let machine = Double::new(2, 1);
        let client = client(&machine, 0, |config| config).expect("it is");
        let memory = machine.process(0).buffer(&[0; 64]);
        machine.refuse(0, Refusal::nth(n));
        let region = client.create_region(&memory, RegionRights::ALL);
        let refused = machine.refuse_nothing(0);
        if refused.is_empty() {
            assert!(region.is_ok());
            break;
        }
        assert!(
            region.is_err(),
            "access {n} was refused, and nobody says so"
        );
        // All slots of the process are there.
        let slots = usize::from(small().slots_per_process);
        let regions: Vec<_> = (0..slots)
            .map(|_| client.create_region(&memory, RegionRights::ALL))
            .collect();
        assert!(
            regions.iter().all(Result::is_ok),
            "after access {n}, {refused:x?}"
        );
        n += 1;
    }
    assert!(n > 2, "{n} accesses");
}

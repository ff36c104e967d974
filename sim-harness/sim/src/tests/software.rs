// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software on simulated time: registers, waits, locks, ends.

use std::cell::RefCell;
use std::rc::Rc;

use super::common::{Failure, bring_up, config};
use gyre_layout::ErrorReason;
use gyre_layout::registers::{self, node, wake_group};
use gyre_sim::{
    BusError, Cpu, Lock, Machine, MachineConfig, Notify, Recorder, SimError, Until, WakeReason,
};

/// Runs one actor on a machine of one node.
fn run(body: impl FnOnce(Cpu) -> Result<(), Failure> + 'static) -> Result<(), SimError> {
    let mut machine = Machine::new(config(&[1])).expect("made");
    machine.spawn(0, "test", body);
    machine.run(Until::Done).map(|_| ())
}

#[test]
fn register_accesses_take_the_time_of_the_bus() {
    run(|cpu| {
        let start = cpu.now_ps();
        assert_eq!(cpu.read_reg(node::ID)? as u32, 0x4759_5245);
        let read = (cpu.now_ps() - start) / cpu.cycle_ps();
        assert!(
            (17..=30).contains(&read),
            "a read took {read} cycles, 16 of them on the way"
        );
        let before = cpu.now_ps();
        cpu.write_reg(node::SCRATCH, 0x1234_5678_9abc_def0)?;
        assert_eq!(cpu.now_ps(), before, "writes are posted");
        assert_eq!(
            cpu.read_reg(node::SCRATCH)?,
            0x1234_5678_9abc_def0,
            "reads follow writes"
        );
        Ok(())
    })
    .expect("runs");
}

#[test]
fn refused_accesses_are_reported_with_their_address() {
    run(|cpu| {
        assert_eq!(cpu.read_reg(4), Err(BusError::Address { addr: 4 }));
        assert_eq!(
            cpu.write_reg(1 << 24, 0),
            Err(BusError::Address { addr: 1 << 24 })
        );
        let unmapped = 0xf_0000;
        assert_eq!(
            cpu.read_reg(unmapped),
            Err(BusError::Read { addr: unmapped })
        );
        // A refused posted write surfaces once, at the next read or fence.
        cpu.write_reg(node::ID, 1)?;
        assert_eq!(
            cpu.read_reg(node::SCRATCH),
            Err(BusError::Write { addr: node::ID })
        );
        cpu.read_reg(node::SCRATCH)?;
        cpu.write_reg(node::ID, 1)?;
        assert_eq!(cpu.fence(), Err(BusError::Write { addr: node::ID }));
        assert_eq!(cpu.fence(), Ok(()));
        Ok(())
    })
    .expect("runs");
}

#[test]
fn deadlines_and_sleeps_end_at_their_time() {
    run(|cpu| {
        let start = cpu.now_ps();
        cpu.charge_instructions(1000);
        assert_eq!(cpu.now_ps() - start, 1000 * 625);
        let deadline = cpu.now_ps() + 12_345;
        assert_eq!(cpu.wait_wake(3, Some(deadline)), WakeReason::Deadline);
        assert_eq!(cpu.now_ps(), deadline);
        assert_eq!(
            cpu.wait_wake(3, Some(0)),
            WakeReason::Deadline,
            "in the past"
        );
        assert_eq!(cpu.now_ps(), deadline);
        // An hour of simulated time costs nothing.
        let later = deadline + 3600 * 1_000_000_000_000;
        cpu.sleep_until(later);
        assert_eq!(cpu.now_ps(), later);
        Ok(())
    })
    .expect("runs");
}

#[test]
fn a_wait_that_ended_early_does_not_run_to_its_deadline() {
    let mut machine = Machine::new(config(&[1])).expect("made");
    machine.spawn(0, "first", move |cpu| {
        let news = Notify::new(&cpu);
        let later = cpu.now_ps() + 1_000_000_000_000;
        let waited = news.clone();
        cpu.spawn("other", move |_| {
            assert_eq!(waited.wait(Some(later)), WakeReason::Wake);
            Ok::<_, Failure>(())
        });
        cpu.sleep_until(cpu.now_ps() + 1_000_000);
        news.notify_all();
        Ok::<_, Failure>(())
    });
    let report = machine.run(Until::Quiet).expect("runs");
    assert!(report.cycles < 1_000, "{} cycles", report.cycles);
}

#[test]
fn hw1_an_event_of_the_hardware_wakes_software() {
    run(|cpu| {
        const ERROR_EVENT: u64 = 1 << 63;
        let group = registers::wake(5);
        cpu.write_reg(group + wake_group::MASK, ERROR_EVENT)?;
        cpu.write_reg(node::ERR_SET, 0x0c)?;
        let start = cpu.now_ps();
        assert_eq!(cpu.wait_wake(5, None), WakeReason::Wake);
        let waited = (cpu.now_ps() - start) / cpu.cycle_ps();
        assert!((17..60).contains(&waited), "woken after {waited} cycles");
        assert_eq!(
            cpu.wait_wake(5, None),
            WakeReason::Wake,
            "the cause is still set"
        );
        cpu.write_reg(group + wake_group::CAUSE, ERROR_EVENT)?;
        cpu.read_reg(group + wake_group::CAUSE)?;
        let deadline = cpu.now_ps() + 1_000_000;
        assert_eq!(cpu.wait_wake(5, Some(deadline)), WakeReason::Deadline);
        Ok(())
    })
    .expect("runs");
}

#[test]
fn x1_x7_events_are_the_same_in_memory_and_on_disk() {
    let recorded = |recorder: Recorder, threads| {
        let mut machine = Machine::new(MachineConfig {
            recorder: Some(recorder.clone()),
            threads,
            ..config(&[2])
        })
        .expect("made");
        for node in 0..2 {
            machine.spawn(node, "test", |cpu| {
                for round in 0..50 {
                    cpu.write_reg(registers::node::SCRATCH, round)?;
                    assert_eq!(cpu.read_reg(registers::node::SCRATCH)?, round);
                    cpu.record_operation(round as u32);
                    cpu.sleep_until(cpu.now_ps() + 100_000);
                }
                Ok::<_, Failure>(())
            });
        }
        machine.run(Until::Done).expect("runs");
        drop(machine);
        recorder.take().pop().expect("a recording")
    };
    let whole = recorded(Recorder::default(), 1);
    assert!(whole.count() > 200, "{} events", whole.count());
    let folder = tempfile::tempdir().expect("a folder");
    for held in [1, 7, 64] {
        for threads in [1, 2] {
            let recorder = Recorder::holding(held, folder.path().to_owned());
            assert_eq!(recorded(recorder, threads), whole, "{held}, {threads}");
        }
    }
    // Lost events end the run.
    let missing = folder.path().join("missing");
    let mut machine = Machine::new(MachineConfig {
        recorder: Some(Recorder::holding(4, missing)),
        ..config(&[2])
    })
    .expect("made");
    machine.spawn(0, "test", |cpu| {
        for _ in 0..50 {
            cpu.read_reg(registers::node::SCRATCH)?;
        }
        Ok::<_, Failure>(())
    });
    let error = machine.run(Until::Done).expect_err("no such folder");
    assert!(matches!(error, SimError::Events(_)), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn locks_are_handed_over_in_order_and_news_reach_all() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut machine = Machine::new(config(&[1])).expect("made");
    let shared = Rc::clone(&log);
    machine.spawn(0, "first", move |cpu| {
        let lock = Lock::new(&cpu);
        let news = Notify::new(&cpu);
        for name in 1..4 {
            let (lock, news, log) = (lock.clone(), news.clone(), Rc::clone(&shared));
            cpu.spawn("other", move |cpu| {
                cpu.charge_ps(name * 1000);
                assert!(!lock.try_lock());
                lock.lock();
                log.borrow_mut().push((name, cpu.now_ps()));
                cpu.sleep_until(cpu.now_ps() + 500);
                lock.unlock();
                assert_eq!(news.wait(None), WakeReason::Wake);
                log.borrow_mut().push((name + 10, cpu.now_ps()));
                Ok::<(), Failure>(())
            });
        }
        lock.lock();
        cpu.sleep_until(10_000);
        lock.unlock();
        assert_eq!(news.wait(Some(15_000)), WakeReason::Deadline);
        cpu.sleep_until(20_000);
        news.notify_all();
        Ok::<(), Failure>(())
    });
    machine.run(Until::Done).expect("runs");
    assert_eq!(
        *log.borrow(),
        [
            (1, 10_000),
            (2, 10_500),
            (3, 11_000),
            (11, 20_000),
            (12, 20_000),
            (13, 20_000)
        ]
    );
}

#[test]
fn software_signals_are_not_lost() {
    run(|cpu| {
        cpu.signal(2);
        assert_eq!(cpu.wait_wake(2, None), WakeReason::Wake);
        let deadline = cpu.now_ps() + 5000;
        assert_eq!(cpu.wait_wake(2, Some(deadline)), WakeReason::Deadline);
        let other = cpu.clone();
        cpu.spawn("signaller", move |_| {
            other.charge_ps(700);
            other.signal(2);
            Ok::<(), Failure>(())
        });
        let start = cpu.now_ps();
        assert_eq!(cpu.wait_wake(2, None), WakeReason::Wake);
        assert_eq!(cpu.now_ps(), start + 700);
        Ok(())
    })
    .expect("runs");
}

#[test]
fn an_actors_error_names_it_and_stops_the_machine() {
    let mut machine = Machine::new(config(&[2])).expect("made");
    machine.spawn(1, "broken", |cpu| {
        cpu.charge_ps(77);
        Err::<(), _>("no more")
    });
    let error = machine.run(Until::Done).expect_err("fails");
    assert_eq!(error.to_string(), "node 1, broken, at 77 ps: no more");
    assert!(matches!(machine.run(Until::Done), Err(SimError::Stopped)));
}

#[test]
fn deadlock_is_found_at_once_and_says_who_waits_for_what() {
    let mut machine = Machine::new(config(&[2])).expect("made");
    machine.spawn(1, "waiter", |cpu| {
        cpu.describe_wait("the message that never comes");
        cpu.wait_wake(4, None);
        Ok::<(), Failure>(())
    });
    let error = machine.run(Until::Done).expect_err("deadlock");
    assert!(matches!(error, SimError::Deadlock(_)));
    let text = error.to_string();
    assert!(
        text.contains("node 1 waiter: since 0 ps waits for wake-up lines 0x10")
            && text.contains("the message that never comes"),
        "{text}"
    );
}

#[test]
fn watchdog_stops_software_that_polls_for_ever() {
    let mut machine = Machine::new(MachineConfig {
        watchdog: 5000,
        ..config(&[1])
    })
    .expect("made");
    machine.spawn(0, "poller", |cpu| {
        while cpu.read_reg(node::SCRATCH)? == 0 {}
        Ok::<(), Failure>(())
    });
    let error = machine.run(Until::Done).expect_err("stopped");
    assert!(matches!(error, SimError::Watchdog { .. }), "{error}");
    assert!(error.to_string().contains("node 0 poller"), "{error}");
}

/// Body of an actor.
type Body = fn(Cpu) -> Result<(), Failure>;

/// Error that stops a machine of two nodes with these actors.
fn stopped(window: Option<u64>, actors: &[Body]) -> String {
    let config = MachineConfig {
        watchdog: 5000,
        window,
        ..config(&[2])
    };
    let mut machine = Machine::new(config).expect("made");
    for (number, actor) in actors.iter().enumerate() {
        machine.spawn(number % 2, "actor", *actor);
    }
    machine.run(Until::Done).expect_err("stopped").to_string()
}

#[test]
fn x1_machines_stop_in_the_same_cycle_with_any_window() {
    let waits = |cpu: Cpu| {
        cpu.read_reg(node::SCRATCH)?;
        cpu.wait_wake(3, None);
        Ok(())
    };
    let polls = |cpu: Cpu| {
        while cpu.read_reg(node::SCRATCH)? == 0 {}
        Ok(())
    };
    // The first actor fails in a later cycle than the second, which is found later.
    let fails_late = |cpu: Cpu| {
        cpu.charge_ps(100 * cpu.cycle_ps());
        Err("late".into())
    };
    let fails_soon = |cpu: Cpu| {
        cpu.sleep_until(cpu.now_ps() + 70 * cpu.cycle_ps());
        Err("soon".into())
    };
    let cases: [(&[Body], &str); 3] = [
        (&[waits, waits], "deadlock"),
        (&[waits, polls], "no progress for 5056 cycles"),
        (&[fails_late, fails_soon], "soon"),
    ];
    for (actors, words) in cases {
        let expected = stopped(None, actors);
        assert!(expected.contains(words), "{expected}");
        for window in [1, 3] {
            assert_eq!(stopped(Some(window), actors), expected);
        }
    }
}

#[test]
fn actors_that_never_end_are_unwound_with_the_machine() {
    struct Guard(Cpu, Rc<RefCell<Vec<&'static str>>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            // Blocks no more: the machine is going away.
            let refused = self.0.read_reg(node::SCRATCH).is_err();
            self.1
                .borrow_mut()
                .push(if refused { "cleaned" } else { "blocked" });
        }
    }
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut machine = Machine::new(config(&[1])).expect("made");
    let own = Rc::clone(&log);
    machine.spawn(0, "endless", move |cpu| {
        let _guard = Guard(cpu.clone(), own);
        cpu.wait_wake(0, None);
        Ok::<(), Failure>(())
    });
    machine.run(Until::Cycle(100)).expect("runs");
    assert_eq!(machine.cycles(), 100);
    drop(machine);
    assert_eq!(*log.borrow(), ["cleaned"]);
}

#[test]
fn log_of_messages_is_in_order_of_time() {
    let mut machine = Machine::new(config(&[2])).expect("made");
    machine.keep_log();
    for node in [0, 1] {
        machine.spawn(node, "rank", move |cpu| {
            cpu.charge_ps(1000 * (2 - node as u64));
            cpu.log_message(node as u32, "sent");
            Ok::<(), Failure>(())
        });
    }
    machine.run(Until::Done).expect("runs");
    let log: Vec<_> = machine
        .take_log()
        .iter()
        .map(|entry| (entry.ps, entry.node, entry.message, entry.what))
        .collect();
    assert_eq!(log, [(1000, 1, 1, "sent"), (2000, 0, 0, "sent")]);
}

#[test]
fn bring_up_by_firmware_leaves_a_quiet_machine() {
    let mut machine = Machine::new(config(&[2, 2])).expect("made");
    let report = bring_up(&mut machine).expect("comes up");
    assert_eq!(report.actors_ended, 4);
    let before = machine.report();
    machine
        .run(Until::Cycle(before.cycles + 1_000_000))
        .expect("runs");
    let idle = machine.report().node_cycles_evaluated - before.node_cycles_evaluated;
    assert!(
        idle < 200,
        "{idle} node-cycles were evaluated in an idle million"
    );
}

/// When a node was interrupted, and INT_CAUSE, LINK_STATUS and ERR_STATUS then.
type Interrupt = (u64, [u64; 3]);

/// Interrupts of node 1 of two: by its neighbour's links going down, and by errors that it sets itself.
fn interrupts(skip_idle: bool) -> Vec<Interrupt> {
    let mut machine = Machine::new(MachineConfig {
        skip_idle,
        ..config(&[2])
    })
    .expect("made");
    bring_up(&mut machine).expect("comes up");
    let seen: Rc<RefCell<Vec<Interrupt>>> = Rc::default();
    let list = Rc::clone(&seen);
    let waits = move |cpu: Cpu| -> Result<(), Failure> {
        cpu.write_reg(node::INT_MASK, u64::MAX)?;
        cpu.write_reg(node::INT_CAUSE, u64::MAX)?;
        cpu.fence()?;
        for own in [None, Some(ErrorReason::Write), Some(ErrorReason::PktDest)] {
            if let Some(reason) = own {
                cpu.write_reg(node::ERR_SET, u64::from(u8::from(reason)))?;
            }
            let deadline = cpu.now_ps() + 20_000 * cpu.cycle_ps();
            assert_eq!(cpu.wait_irq(Some(deadline)), WakeReason::Wake, "{own:?}");
            let at = cpu.now_ps();
            // The links change one after the other.
            cpu.sleep_until(at + 100 * cpu.cycle_ps());
            let registers = [node::INT_CAUSE, node::LINK_STATUS, node::ERR_STATUS];
            let mut values = [0; 3];
            for (value, register) in values.iter_mut().zip(registers) {
                *value = cpu.read_reg(register)?;
            }
            cpu.write_reg(node::INT_CAUSE, u64::MAX)?;
            // Left alone where it is not set: the next error does not take the place of the first.
            cpu.write_reg(node::ERR_STATUS, 0)?;
            cpu.fence()?;
            list.borrow_mut().push((at, values));
        }
        Ok(())
    };
    machine.spawn(1, "interrupted", waits);
    machine.spawn(0, "disables", |cpu| {
        cpu.sleep_until(cpu.now_ps() + 2_000 * cpu.cycle_ps());
        cpu.write_reg(node::LINK_ENABLE, 0)?;
        Ok::<(), Failure>(cpu.fence()?)
    });
    machine.run(Until::Done).expect("runs");
    seen.take()
}

#[test]
fn x1_x5_interrupts_do_not_depend_on_stopped_clocks() {
    let seen = interrupts(true);
    let causes: Vec<u64> = seen.iter().map(|(_, values)| values[0]).collect();
    let (link, error) = (node::int_cause::LINK.mask(), node::int_cause::ERROR.mask());
    assert_eq!(causes, [link, error, error], "{seen:x?}");
    let first = node::err_status::VALID.mask() | u64::from(u8::from(ErrorReason::Write));
    let errors: Vec<u64> = seen.iter().map(|(_, values)| values[2]).collect();
    assert_eq!(errors, [0, first | 1 << 32, first | 2 << 32], "{seen:x?}");
    assert_eq!(interrupts(false), seen);
}

#[test]
fn hw1_reset_by_software_needs_no_access_to_come_to_its_end() {
    run(|cpu| {
        let reset = node::ctrl::SOFT_RESET.mask();
        cpu.write_reg(node::CTRL, reset)?;
        cpu.fence()?;
        cpu.sleep_until(cpu.now_ps() + 500 * cpu.cycle_ps());
        assert_eq!(cpu.read_reg(node::CTRL)? & reset, 0);
        Ok(())
    })
    .expect("runs");
}

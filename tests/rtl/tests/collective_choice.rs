// SPDX-License-Identifier: MIT OR Apache-2.0
//! `coll_select` and `coll_down`: what a node does with a packet of a class route is what the deadlock check says, for
//! every value of the route's register, every set of waiting packets and every output without room (X-3, HW-5).

use gyre_deadlock::TreeRoute;
use gyre_layout::registers::coll_route;
use gyre_rtl_tests::{Failure, Unit};

/// The route under test, and one beside it that has a packet but no room.
const ROUTE: usize = 5;
const BLOCKED: usize = 11;

/// Bits of a part in `route_i`, and of a field of a packed structure over all routes.
const PART_BITS: usize = 9;
const ROUTES: u32 = 16;

/// Registers of all kinds of parts in a route that is valid.
fn registers() -> impl Iterator<Item = u64> {
    (0..16_u64).map(|flags| {
        coll_route::VALID.put(1)
            | coll_route::PARENT.put(flags & 1)
            | coll_route::CHILD0.put(flags >> 1 & 1)
            | coll_route::CHILD1.put(flags >> 2 & 1)
            | coll_route::LOCAL.put(flags >> 3)
    })
}

/// `route_i` with these registers.
fn set_routes(unit: &mut Unit, registers: &[(usize, u64)]) {
    let mut words = [0_u32; 5];
    for &(route, register) in registers {
        let part = register & 0x1f;
        for bit in (0..5).filter(|bit| part >> bit & 1 != 0) {
            let at = PART_BITS * route + bit;
            words[at / 32] |= 1 << (at % 32);
        }
    }
    unit.set_wide(unit.port("route_i"), 0, &words);
}

/// A packet at the front of an input.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    alone: bool,
    mine: bool,
}

/// `coll_front_t` with these packets.
fn front(packets: &[(usize, Packet)]) -> u128 {
    let field = |number: u32, holds: &dyn Fn(Packet) -> bool| -> u128 {
        let bits = packets.iter().filter(|packet| holds(packet.1));
        bits.fold(0, |all, &(route, _)| all | 1 << route) << (ROUTES * number)
    };
    field(4, &|_| true) | field(3, &|packet| packet.alone) | field(1, &|packet| packet.mine)
}

fn set(unit: &mut Unit, port: &str, element: usize, value: u64) {
    unit.set(unit.port(port), element, value);
}

fn get(unit: &Unit, port: &str) -> u64 {
    unit.get(unit.port(port), 0)
}

fn bits(flags: &[bool]) -> u64 {
    let numbered = flags.iter().enumerate();
    numbered.fold(0, |all, (bit, &flag)| all | u64::from(flag) << bit)
}

fn text(failure: Failure) -> String {
    failure.to_string()
}

/// The way up: every combination of inputs, outputs and parts.
fn way_up(name: &str) -> Result<(), String> {
    let mut unit = Unit::new(name, 3);
    set(&mut unit, "enable_i", 0, 1);
    for register in registers() {
        let part = TreeRoute::of_register(register).expect("valid");
        // It goes to the parent, which has no room for it.
        let blocked =
            coll_route::VALID.put(1) | coll_route::PARENT.put(1) | coll_route::LOCAL.put(1);
        set_routes(&mut unit, &[(ROUTE, register), (BLOCKED, blocked)]);
        for case in 0..1_u64 << 11 {
            let [pending, alone, ok] = [case & 7, case >> 3 & 7, case >> 6 & 7];
            let (eject, mine) = (case >> 9 & 1 != 0, case >> 10 & 1 != 0);
            let waiting = |input: usize| pending >> input & 1 != 0;
            let is_alone = |input: usize| alone >> input & 1 != 0;
            for input in 0..3 {
                let mut packets = Vec::new();
                if waiting(input) {
                    let alone = is_alone(input);
                    packets.push((ROUTE, Packet { alone, mine }));
                }
                if input == 0 {
                    packets.push((BLOCKED, Packet::default()));
                }
                unit.set_u128(unit.port("front_i"), input, front(&packets));
                set(&mut unit, "out_ok_i", input, (ok >> input & 1) << ROUTE);
            }
            set(&mut unit, "ej_ok_i", 0, u64::from(eject));
            unit.settle().map_err(text)?;

            let outputs = part.outputs_up(mine);
            let free = [ok & 1 != 0, ok & 2 != 0, ok & 4 != 0, eject];
            let room = outputs
                .iter()
                .zip(free)
                .all(|(&wanted, free)| !wanted || free);
            let inputs = part.inputs();
            let stray = (0..3).any(|i| waiting(i) && !inputs[i]);
            let single = (0..3).any(|i| waiting(i) && inputs[i] && is_alone(i)) && room;
            let whole = inputs.contains(&true)
                && (0..3).all(|i| !inputs[i] || (waiting(i) && !is_alone(i)))
                && room;
            let context = || format!("{part:?}, case {case:#b}");
            let goes = get(&unit, "valid_o") != 0;
            if goes != (stray || single || whole) {
                return Err(format!("{}: starts {goes}", context()));
            }
            if !goes {
                continue;
            }
            if get(&unit, "choice_o") != ROUTE as u64 {
                return Err(format!("{}: another route", context()));
            }
            let discarded = get(&unit, "discard_o") != 0;
            let taken = get(&unit, "inputs_o");
            if !discarded && get(&unit, "outs_o") != bits(&outputs) {
                return Err(format!("{}: other outputs", context()));
            }
            if !stray && !single && taken != bits(&inputs) {
                return Err(format!("{}: combines {taken:#b}", context()));
            }
        }
    }
    Ok(())
}

/// The way down: the same for packets from the parent.
fn way_down(name: &str) -> Result<(), String> {
    let mut unit = Unit::new(name, 3);
    for register in registers() {
        let part = TreeRoute::of_register(register).expect("valid");
        let blocked = register | coll_route::PARENT.put(1) | coll_route::CHILD0.put(1);
        set_routes(&mut unit, &[(ROUTE, register), (BLOCKED, blocked)]);
        for case in 0..1_u64 << 5 {
            let flag = |bit: u32| case >> bit & 1 != 0;
            let (pending, mine) = (flag(0), flag(1));
            let mut packets = vec![(BLOCKED, Packet::default())];
            if pending {
                packets.push((ROUTE, Packet { alone: false, mine }));
            }
            unit.set_u128(unit.port("front_i"), 0, front(&packets));
            for child in 0..2 {
                set(
                    &mut unit,
                    "out_ok_i",
                    child,
                    u64::from(flag(2 + child as u32)) << ROUTE,
                );
            }
            set(&mut unit, "ej_ok_i", 0, u64::from(flag(4)));
            unit.settle().map_err(text)?;

            let outputs = part.outputs_down(mine);
            let free = [true, flag(2), flag(3), flag(4)];
            let room = outputs
                .iter()
                .zip(free)
                .all(|(&wanted, free)| !wanted || free);
            let starts = get(&unit, "start_o") != 0;
            if starts != (pending && (room || !part.parent)) {
                return Err(format!("{part:?}, case {case:#b}: starts {starts}"));
            }
            let goes = starts && part.parent;
            let expected = if goes { bits(&outputs[1..3]) } else { 0 };
            if get(&unit, "start_outs_o") != expected {
                return Err(format!("{part:?}, case {case:#b}: other outputs"));
            }
        }
    }
    Ok(())
}

#[test]
fn x3_hw5_the_way_up_waits_and_goes_on_as_the_deadlock_check_says() {
    way_up("tree_choice").expect("as the check says");
    way_up("fault_tree_choice").expect_err("it does not wait for child 1");
}

#[test]
fn x3_hw5_the_way_down_goes_on_as_the_deadlock_check_says() {
    way_down("tree_down").expect("as the check says");
    way_down("fault_tree_down").expect_err("it takes no room at child 1");
}

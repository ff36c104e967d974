// SPDX-License-Identifier: MIT OR Apache-2.0
//! Firmware on the test double. The real test is on the RTL; here the logic and the errors.

extern crate std;

use std::string::ToString;
use std::vec::Vec;

use gyre_layout::registers::node::{self, ctrl, err_status, int_cause};
use gyre_layout::registers::{
    COLL, REFUSALS, base_slot, coll_network, group_page, injection_fifo as inj, page, refusal,
    refusals,
};
use gyre_layout::{Coord, ErrorReason, Kind, LinkState};

use crate::register_file::{RegisterFile, SlaveError, slot_ctrl};
use crate::{
    Causes, ErrorReport, InjectionConfig, NetworkConfig, Node, NodeError, ReceptionConfig,
    RefusedPackets, Register, Rights, RoutePart, SelfTest, SlotConfig,
};

fn identified(file: RegisterFile) -> Node<RegisterFile> {
    Node::identify(file).expect("the double is a node")
}

/// Node (0, 1, 0) of a 4 x 3 x 1 machine whose second dimension is a line.
fn network() -> NetworkConfig {
    NetworkConfig {
        coord: Coord([0, 1, 0, 0, 0]),
        size: [4, 3, 1, 1, 1],
        ring: [true, false, true, true, true],
        dimension_order: [1, 0, 2, 3, 4],
    }
}

#[test]
fn identify_reads_the_parameters() {
    let node = identified(RegisterFile::new());
    let parameters = node.parameters();
    assert_eq!((parameters.dimensions, parameters.injection_fifos), (3, 32));
    assert_eq!((parameters.reception_fifos, parameters.slots), (16, 32));
    assert_eq!((parameters.axi_masters, parameters.axi_bytes), (2, 64));
}

#[test]
fn x5_another_device_is_refused_with_what_it_says() {
    let mut file = RegisterFile::new();
    file.values.insert(node::ID, 0x0002_4759_5245);
    let error = Node::identify(file).err().map(|e| e.to_string());
    assert_eq!(
        error.as_deref(),
        Some("ID (0x000000): read 0x247595245, expected 0x147595245 in the bits 0xffffffffffff")
    );
    let mut file = RegisterFile::new();
    let params = file.value(node::PARAMS);
    file.values
        .insert(node::PARAMS, node::params::NDIM.set(params, 6));
    assert!(matches!(
        Node::identify(file),
        Err(NodeError::Field {
            field: "ndim",
            value: 6,
            ..
        })
    ));
}

#[test]
fn hw3_links_of_edges_and_single_nodes_stay_off() {
    // Ring of 4: both; line of 3 in the middle: both; single: none.
    assert_eq!(network().links(), 0b00_11_11);
    let edge = |at| NetworkConfig {
        coord: Coord([0, at, 0, 0, 0]),
        ..network()
    };
    assert_eq!(edge(0).links(), 0b00_01_11);
    assert_eq!(edge(2).links(), 0b00_10_11);
    let pair = NetworkConfig {
        coord: Coord([1, 0, 0, 0, 0]),
        size: [2, 1, 1, 1, 1],
        ring: [true; 5],
        ..network()
    };
    assert_eq!(pair.links(), 0b11, "a ring of two has two links");
}

#[test]
fn bring_up_sets_the_shape_awaits_links_and_enables_the_dma_engine() {
    let mut node = identified(RegisterFile::new());
    node.bring_up(&network(), SelfTest::Run, 10).expect("works");
    let file = node.into_access();
    assert_eq!(file.value(node::COORD), 1 << 6);
    assert_eq!(
        file.value(node::SIZE),
        4 | 3 << 7 | 1 << 14 | 1 << 21 | 1 << 28
    );
    assert_eq!(file.value(node::RING), 0b11101);
    assert_eq!(file.value(node::DIM_ORDER), 0o43201);
    assert_eq!(file.value(node::LINK_ENABLE), 0b1111);
    // Node 4 of 12: parent 1, children 9 and 10.
    assert_eq!(file.value(COLL + coll_network::LINK_ENABLE), 0b111);
    assert_eq!(file.value(node::CTRL), 1);
    let order: Vec<_> = [node::SIZE, node::LINK_ENABLE, node::CTRL]
        .iter()
        .map(|&address| {
            file.log
                .iter()
                .position(|access| access.0 == address && access.1.is_some())
        })
        .collect();
    assert!(order.is_sorted() && order.iter().all(Option::is_some));
}

#[test]
fn x5_an_impossible_shape_is_refused_before_any_write() {
    let refused = |config: NetworkConfig| {
        let mut node = identified(RegisterFile::new());
        let error = node.configure_network(&config).expect_err("refused");
        assert!(
            node.into_access()
                .log
                .iter()
                .all(|access| access.1.is_none())
        );
        error.to_string()
    };
    let mut config = network();
    config.size[3] = 2;
    assert_eq!(
        refused(config),
        "size of dimension 3: 0x2, expected 1: the node has no links in this dimension"
    );
    let mut config = network();
    config.coord.0[1] = 3;
    assert_eq!(
        refused(config),
        "coordinate in dimension 1: 0x3, expected less than the size of the dimension"
    );
    let mut config = network();
    config.dimension_order = [0, 1, 2, 1, 4];
    assert_eq!(
        refused(config),
        "dimension order at place 3: 0x1, expected each of 0 to 4 once"
    );
    let mut config = network();
    config.size[0] = 65;
    assert_eq!(
        refused(config),
        "size of dimension 0: 0x41, expected 1 to 64 nodes"
    );
}

#[test]
fn x5_a_link_that_does_not_come_up_is_named() {
    let mut file = RegisterFile::new();
    file.bad_port = Some((3, LinkState::Ack));
    let mut node = identified(file);
    let error = node.bring_up(&network(), SelfTest::Skip, 10);
    assert_eq!(
        error,
        Err(NodeError::LinkDown {
            port: 3,
            dimension: 1,
            sign: '-',
            state: LinkState::Ack,
            polls: 10
        })
    );
    assert_eq!(node.into_access().value(node::CTRL), 0, "DMA stays off");
}

#[test]
fn hw5_tree_links_follow_from_place_and_shape() {
    assert_eq!((network().nodes(), network().number()), (12, 4));
    let place = |coord| NetworkConfig {
        coord: Coord(coord),
        ..network()
    };
    assert_eq!(place([0, 0, 0, 0, 0]).tree_links(), 0b110, "the root");
    assert_eq!(place([1, 1, 0, 0, 0]).tree_links(), 0b011, "node 5");
    assert_eq!(place([3, 2, 0, 0, 0]).tree_links(), 0b001, "a leaf");
}

#[test]
fn hw5_tree_link_that_does_not_come_up_is_named() {
    let mut file = RegisterFile::new();
    file.bad_port = Some((12, LinkState::Init));
    let mut node = identified(file);
    let error = node
        .bring_up(&network(), SelfTest::Skip, 10)
        .expect_err("down");
    assert_eq!(
        error.to_string(),
        "tree link 2 to the child 1 is in state Init after 10 polls, expected Up"
    );
    assert_eq!(node.into_access().value(node::CTRL), 0, "DMA stays off");
}

#[test]
fn hw5_routes_are_set_and_cleared_and_must_exist() {
    let mut node = identified(RegisterFile::new());
    let part = RoutePart::of(&[1, 4, 9], 4);
    node.set_class_route(15, part.as_ref(), 3).expect("works");
    node.set_barrier_route(2, part.as_ref()).expect("works");
    let refused = node.set_class_route(16, part.as_ref(), 0).expect_err("16");
    assert_eq!(refused.to_string(), "class route: 0x10, expected 0 to 15");
    let refused = node
        .set_class_route(1, part.as_ref(), 16)
        .expect_err("owner");
    assert_eq!(
        refused.to_string(),
        "owner of class route 1: 0x10, expected 0 to 15"
    );
    node.set_barrier_route(16, None).expect_err("16");
    let class = COLL + coll_network::route(15);
    let barrier = COLL + coll_network::barrier_route(2);
    node.set_class_route(14, None, 0).expect("works");
    let file = node.into_access();
    assert_eq!((file.value(class), file.value(barrier)), (0x317, 0x17));
}

#[test]
fn hw5_barriers_are_taken_once() {
    let mut node = identified(RegisterFile::new());
    node.enter_barriers(0x8001).expect("works");
    let mut file = node.into_access();
    assert_eq!(file.value(COLL + coll_network::BARRIER_ENTER), 0x8001);
    file.values
        .insert(COLL + coll_network::BARRIER_DONE, 0x8003);
    let mut node = identified(file);
    assert_eq!(node.take_barriers(0x8001), Ok(0x8001));
    assert_eq!(node.take_barriers(0x8001), Ok(0));
    assert_eq!(node.take_barriers(2), Ok(2));
}

#[test]
fn self_test_restores_what_it_finds() {
    let mut file = RegisterFile::new();
    let base = page(0) + group_page::inj(5) + inj::BASE;
    let limit = page(0) + group_page::slot(31) + base_slot::LIMIT;
    file.values.insert(base, 0x1234_5000);
    file.values.insert(limit, 77);
    file.values.insert(node::SCRATCH, 99);
    let mut node = identified(file);
    node.self_test().expect("no fault");
    let file = node.into_access();
    assert_eq!(
        (
            file.value(base),
            file.value(limit),
            file.value(node::SCRATCH)
        ),
        (0x1234_5000, 77, 99)
    );
}

#[test]
fn self_test_finds_stuck_bits_and_address_faults() {
    let base = |id| page(0) + group_page::inj(id) + inj::BASE;
    let limit = page(0) + group_page::slot(30) + base_slot::LIMIT;
    for (address, bit) in [
        (node::SCRATCH, 63),
        (base(0), 12),
        (base(31), 47),
        (limit, 39),
    ] {
        let mut file = RegisterFile::new();
        file.stuck.push((address, 1 << bit));
        let error = identified(file).self_test();
        let Err(NodeError::Mismatch {
            register,
            value,
            expected,
            ..
        }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((register.address, value ^ expected), (address, 1 << bit));
    }
    let mut file = RegisterFile::new();
    file.alias = Some((base(7), base(9)));
    assert!(matches!(
        identified(file).self_test(),
        Err(NodeError::Mismatch { .. })
    ));
}

#[test]
fn self_test_does_not_touch_a_fifo_in_use() {
    let mut file = RegisterFile::new();
    let ctrl = Register::injection_ctrl(2);
    file.values.insert(ctrl.address, 1);
    assert_eq!(
        identified(file).self_test(),
        Err(NodeError::InUse {
            register: ctrl,
            value: 1
        })
    );
}

const INJECTION: InjectionConfig = InjectionConfig {
    base: 0x8000,
    size: 4096,
    owner: 3,
    remote_get: true,
    interrupt: true,
};

const RECEPTION: ReceptionConfig = ReceptionConfig {
    base: 0x10000,
    size: 8192,
    owner: 3,
    threshold: 4000,
};

const SLOT: SlotConfig = SlotConfig {
    base: 0x4000,
    limit: 1 << 30,
    owner: 9,
    rights: Rights {
        read: true,
        write: false,
        atomic: true,
        remote_read: true,
    },
};

#[test]
fn hw1_fifos_and_slots_are_set_up_before_they_are_enabled() {
    let mut node = identified(RegisterFile::new());
    node.open_injection(4, &INJECTION).expect("works");
    node.open_reception(15, &RECEPTION).expect("works");
    node.grant_slot(31, &SLOT).expect("works");
    let file = node.into_access();
    assert_eq!(
        file.value(Register::injection_ctrl(4).address),
        0b1_0011_0011
    );
    assert_eq!(file.value(Register::reception_ctrl(15).address), 0x31);
    assert_eq!(file.value(slot_ctrl(31)), 0x900 | 0b11011);
    let written: Vec<_> = file.log.iter().filter_map(|a| Some((a.0, a.1?))).collect();
    let inj = page(0) + group_page::inj(4);
    assert_eq!(
        written[..3],
        [
            (inj + inj::BASE, 0x8000),
            (inj + inj::SIZE, 4096),
            (inj + inj::CTRL, 0b1_0011_0011)
        ]
    );
}

#[test]
fn x5_rings_and_slots_that_cannot_be_are_refused() {
    let mut node = identified(RegisterFile::new());
    let injection = |base, size, owner| InjectionConfig {
        base,
        size,
        owner,
        ..INJECTION
    };
    for (id, config, said) in [
        (
            32,
            INJECTION,
            "injection FIFO: 0x20, expected one that the node has (PARAMS)",
        ),
        (
            1,
            injection(0x8800, 4096, 0),
            "ring base of FIFO 1: 0x8800, expected a 48-bit address that is a multiple of 4096",
        ),
        (
            1,
            injection(1 << 48, 4096, 0),
            "ring base of FIFO 1: 0x1000000000000, expected a 48-bit address that is a multiple of 4096",
        ),
        (
            1,
            injection(0, 2048, 0),
            "ring size of FIFO 1: 0x800, expected a power of two from 4096 to 1048576",
        ),
        (
            1,
            injection(0, 12288, 0),
            "ring size of FIFO 1: 0x3000, expected a power of two from 4096 to 1048576",
        ),
        (
            1,
            injection(0, 4096, 16),
            "owner of FIFO 1: 0x10, expected 0 to 15",
        ),
    ] {
        let error = node.open_injection(id, &config).expect_err("refused");
        assert_eq!(error.to_string(), said);
    }
    assert!(node.open_reception(16, &RECEPTION).is_err());
    assert!(node.grant_slot(32, &SLOT).is_err());
    let wide = SlotConfig {
        limit: 1 << 40,
        ..SLOT
    };
    assert!(node.grant_slot(0, &wide).is_err());
    assert!(
        node.into_access()
            .log
            .iter()
            .all(|access| access.1.is_none())
    );
}

#[test]
fn fifos_and_slots_in_use_are_left_alone_until_closed() {
    let mut node = identified(RegisterFile::new());
    node.open_injection(0, &INJECTION).expect("works");
    node.open_reception(0, &RECEPTION).expect("works");
    node.grant_slot(0, &SLOT).expect("works");
    assert!(matches!(
        node.open_injection(0, &INJECTION),
        Err(NodeError::InUse { .. })
    ));
    assert!(matches!(
        node.open_reception(0, &RECEPTION),
        Err(NodeError::InUse { .. })
    ));
    assert!(matches!(
        node.grant_slot(0, &SLOT),
        Err(NodeError::InUse { .. })
    ));
    node.close_injection(0).expect("works");
    node.close_reception(0).expect("works");
    node.revoke_slot(0).expect("works");
    node.open_injection(0, &INJECTION).expect("free again");
    node.open_reception(0, &RECEPTION).expect("free again");
    node.grant_slot(0, &SLOT).expect("free again");
}

#[test]
fn x5_an_interrupt_is_decoded_acknowledged_and_armed_again() {
    let mut file = RegisterFile::new();
    file.values.insert(
        node::INT_CAUSE,
        int_cause::ERROR.put(1) | int_cause::LINK.put(1),
    );
    file.values.insert(
        node::ERR_STATUS,
        err_status::VALID.put(1)
            | err_status::REASON.put(0x08)
            | err_status::WHERE.put(5)
            | err_status::COUNT.put(3),
    );
    file.values.insert(node::ERR_INFO, 0xabc0);
    file.values.insert(node::ERR_TIME, 1234);
    let mut node = identified(file);
    node.enable_interrupts(Causes::ALL).expect("works");
    let report = node.service_interrupt().expect("works");
    assert!(report.causes.error && report.causes.link && !report.causes.counter);
    assert_eq!(
        report.error,
        Some(ErrorReport {
            reason: Ok(ErrorReason::DescBounds),
            place: 5,
            info: 0xabc0,
            cycle: 1234,
            count: 3
        })
    );
    let again = node.service_interrupt().expect("works");
    assert_eq!((again.causes, again.error), (Causes::default(), None));
    let file = node.into_access();
    assert_eq!(file.value(node::INT_MASK), 0b11111);
    assert!(!err_status::VALID.is_set(file.value(node::ERR_STATUS)));
}

#[test]
fn x5_refused_packets_are_taken_with_their_source_and_words() {
    let mut file = RegisterFile::new();
    let at = |entry| REFUSALS + refusals::entry(entry);
    let status = refusals::refused::VALID.put(0b1000_0010) | refusals::refused::LOST.put(5);
    let place = refusal::place::REASON.put(0x25)
        | refusal::place::WHERE.put(17)
        | refusal::place::LAST.put(1);
    let source = Coord([1, 2, 3, 4, 5]);
    let info = |kind| {
        refusal::info::SRC.put(source.pack().expect("fits").into())
            | refusal::info::KIND.put(kind)
            | refusal::info::SOFTWARE.put(0x3fff_ffff)
    };
    file.values.insert(REFUSALS + refusals::REFUSED, status);
    for (entry, kind) in [(1, 2), (7, 15)] {
        file.values.insert(at(entry) + refusal::INFO, info(kind));
        file.values.insert(at(entry) + refusal::PLACE, place);
    }
    let mut node = identified(file);
    let mut taken = Vec::new();
    let lost = node.take_refused(|packets| taken.push(packets));
    assert_eq!(lost, Ok(5));
    let put = RefusedPackets {
        source,
        kind: Ok(Kind::Put),
        first_word: 0x3fff_ffff,
        last_word: 1,
        reason: Ok(ErrorReason::PktSlot),
        place: 17,
    };
    let unknown = RefusedPackets {
        kind: Err(15),
        ..put
    };
    assert_eq!(taken, [put, unknown]);
    // The words go over the end.
    assert!(put.words().eq([0x3fff_ffff, 0, 1]));
    // Reading frees each.
    let written: Vec<_> = (node.into_access().log.into_iter())
        .filter_map(|(address, value)| Some((address, value?)))
        .collect();
    let expected = [1, 7].map(|entry| (at(entry) + refusal::PLACE, place));
    assert!(written.ends_with(&expected), "{written:x?}");
}

#[test]
fn drain_and_reset_end_or_say_that_they_do_not() {
    let mut node = identified(RegisterFile::new());
    node.bring_up(&network(), SelfTest::Skip, 10)
        .expect("works");
    node.open_injection(0, &INJECTION).expect("works");
    node.drain(10).expect("drains");
    node.soft_reset(10).expect("resets");
    node.bring_up(&network(), SelfTest::Run, 10)
        .expect("comes up again, FIFOs off");
    node.open_injection(0, &INJECTION).expect("works");

    let mut file = RegisterFile::new();
    file.patience = None;
    let mut node = identified(file);
    assert!(matches!(
        node.drain(10),
        Err(NodeError::NotInTime { polls: 10, .. })
    ));
    assert!(matches!(
        node.soft_reset(7),
        Err(NodeError::NotInTime { polls: 7, .. })
    ));
    assert!(ctrl::SOFT_RESET.is_set(node.into_access().value(node::CTRL)));
}

#[test]
fn x5_a_refused_access_names_the_register() {
    let mut file = RegisterFile::new();
    let base = Register::injection(4, "injection FIFO BASE", inj::BASE);
    file.refuse.push(base.address);
    let error = identified(file).open_injection(4, &INJECTION);
    assert_eq!(
        error,
        Err(NodeError::Access {
            register: base,
            cause: SlaveError
        })
    );
    assert_eq!(
        error.expect_err("refused").to_string(),
        "injection FIFO BASE[4] (0x100100): slave error"
    );
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every field and every code of `gyre-layout` against SystemVerilog.

use gyre_layout::{
    BitField, CollOp, CollType, Collective, Coord, CounterRef, Descriptor, ErrorReason, FlowPlace,
    Header, Kind, LinkState, Rmw, RmwOp, Source, VClass, fields,
};
use gyre_rtl_tests::layout_probe::{Probe, Subject};

/// With each bit of the struct set alone, and each cleared alone, every field reads what its table says.
fn assert_table_matches(subject: Subject, fields: &[BitField]) {
    let mut probe = Probe::default();
    let bits: usize = fields.iter().map(|f| f.width).sum();
    for bit in 0..bits {
        for invert in [0, 0xff] {
            let mut bytes = [invert; 64];
            bytes[bit / 8] ^= 1 << (bit % 8);
            for (index, expected) in fields.iter().enumerate() {
                assert_eq!(
                    probe.field(subject, index, &bytes),
                    Some(expected.get(&bytes).into()),
                    "{subject:?}.{} with bit {bit} flipped in {invert:#x}",
                    expected.name
                );
            }
        }
    }
    assert_eq!(
        probe.field(subject, fields.len(), &[0; 64]),
        None,
        "{subject:?}: a field is missing"
    );
}

#[test]
fn hw1_every_field_of_the_header_matches_systemverilog() {
    assert_table_matches(Subject::Header, fields::header::FIELDS);
}

#[test]
fn hw1_every_field_of_the_descriptor_matches_systemverilog() {
    assert_table_matches(Subject::Descriptor, fields::descriptor::FIELDS);
}

#[test]
fn hw1_every_field_of_an_rmw_request_matches_systemverilog() {
    assert_table_matches(Subject::RmwAux, fields::rmw_aux::FIELDS);
}

#[test]
fn hw3_every_field_of_the_link_word_matches_systemverilog() {
    assert_table_matches(Subject::Link, fields::link::FIELDS);
}

#[test]
fn hw5_every_field_of_a_collective_matches_systemverilog() {
    assert_table_matches(Subject::Coll, fields::coll::FIELDS);
}

/// The codes of `subject` are those of the probe, in its order.
fn assert_codes_match(subject: Subject, codes: impl Iterator<Item = u8>) {
    let (mut probe, mut count) = (Probe::default(), 0);
    for (index, code) in codes.enumerate() {
        assert_eq!(
            probe.field(subject, index, &[0; 64]),
            Some(code.into()),
            "code {index}"
        );
        count += 1;
    }
    assert_eq!(
        probe.field(subject, count, &[0; 64]),
        None,
        "a code is missing"
    );
}

#[test]
fn hw1_every_code_matches_systemverilog() {
    let codes = (Kind::ALL.iter().map(|&c| u8::from(c)))
        .chain(VClass::ALL.iter().map(|&c| c.into()))
        .chain(ErrorReason::ALL.iter().map(|&c| c.into()))
        .chain(LinkState::ALL.iter().map(|&c| c as u8))
        .chain(RmwOp::ALL.iter().map(|&c| c.into()));
    assert_codes_match(Subject::Codes, codes);
}

#[test]
fn hw5_every_code_of_a_collective_matches_systemverilog() {
    let codes =
        (CollOp::ALL.iter().map(|&c| u8::from(c))).chain(CollType::ALL.iter().map(|&c| c.into()));
    assert_codes_match(Subject::CollCodes, codes);
}

/// Reads a field by its name in SystemVerilog.
fn named(subject: Subject, fields: &[BitField], name: &str, bytes: &[u8; 64]) -> u128 {
    let index = fields.iter().position(|f| f.name == name);
    let index = index.unwrap_or_else(|| panic!("{subject:?} has no field {name}"));
    let mut probe = Probe::default();
    probe
        .field(subject, index, bytes)
        .unwrap_or_else(|| panic!("the probe has no field {name}"))
}

#[test]
fn hw1_encoded_header_reads_back_in_systemverilog() {
    let header = Header {
        dst: Coord([1, 2, 3, 4, 5]),
        vclass: VClass::Response,
        src: Coord([6, 7, 8, 9, 10]),
        deposit: true,
        dynamic_route: false,
        kind: Kind::RemoteGet,
        len: 321,
        hint: 0x2aa,
        order: 5,
        flow: Some(FlowPlace { flow: 6, seq: 21 }),
        first: true,
        last: false,
        seq: 0x234,
        target: 0x155,
        offset: 0x89ab_cdef,
        aux: 0xdead_beef,
        sw0: 0x0bad_cafe,
        sw1: 0xfeed_f00d,
    };
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&header.encode().expect("every value fits"));
    for (name, value) in [
        ("dst", 5_u128 << 24 | 4 << 18 | 3 << 12 | 2 << 6 | 1),
        ("vclass", 1),
        ("deposit", 1),
        ("dynamic_route", 0),
        ("kind", 3),
        ("len", 321),
        ("hint", 0x2aa),
        ("order", 5),
        ("flow_valid", 1),
        ("flow", 6),
        ("flow_seq", 21),
        ("first", 1),
        ("last", 0),
        ("seq", 0x234),
        ("target", 0x155),
        ("offset", 0x89ab_cdef),
        ("aux", 0xdead_beef),
        ("sw0", 0x0bad_cafe),
        ("sw1", 0xfeed_f00d),
    ] {
        assert_eq!(
            named(Subject::Header, fields::header::FIELDS, name, &bytes),
            value,
            "{name}"
        );
    }
}

#[test]
fn hw1_encoded_descriptor_reads_back_in_systemverilog() {
    let source = Source {
        slot: 0x2a5,
        offset: 0xfe_dcba_9876,
        length: 0x0123_4567,
    };
    let descriptor = Descriptor::put(Coord([1, 0, 0, 0, 63]), source, 0x15a, 0x12_3456_789a)
        .with_counter(CounterRef {
            slot: 0x3f,
            index: 0x2a_aaaa,
        })
        .with_software(11, 12)
        .with_message_id(13);
    let bytes = descriptor.encode().expect("every value fits");
    for (name, value) in [
        ("kind", 2_u128),
        ("dst", 63 << 24 | 1),
        ("vclass", 1),
        ("length", 0x0123_4567),
        ("src_off_hi", 0xfe),
        ("src_off_lo", 0xdcba_9876),
        ("src_slot", 0x2a5),
        ("target", 0x15a),
        ("dst_off_hi", 0x12),
        ("dst_off_lo", 0x3456_789a),
        ("ctr_valid", 1),
        ("ctr_slot", 0x3f),
        ("ctr_offset", 0x2a_aaaa),
        ("sw0", 11),
        ("sw1", 12),
        ("msg_id", 13),
        ("requester", 0),
    ] {
        let read = named(
            Subject::Descriptor,
            fields::descriptor::FIELDS,
            name,
            &bytes,
        );
        assert_eq!(read, value, "{name}");
    }
}

#[test]
fn hw1_encoded_rmw_descriptor_reads_back_in_systemverilog() {
    let rmw = Rmw {
        op: RmwOp::And,
        wide: true,
        value: 0x0123_4567_89ab_cdef,
        test: Some(0xfedc_ba98_7654_3210),
        fetch: Some((0x2a5, 0xfe_dcba_9876)),
    };
    let descriptor = Descriptor::rmw(Coord([1, 0, 0, 0, 63]), 0x15a, 0x12_3456_7898, rmw)
        .with_counter(CounterRef {
            slot: 0x3f,
            index: 0x2a_aaaa,
        });
    let bytes = descriptor.encode().expect("every value fits");
    for (name, value) in [
        ("kind", 4_u128),
        ("vclass", 0),
        ("length", 8),
        ("src_off_hi", 0xfe),
        ("src_off_lo", 0xdcba_9876),
        ("src_slot", 0x2a5),
        ("target", 0x15a),
        ("dst_off_hi", 0x12),
        ("dst_off_lo", 0x3456_7898),
        ("ctr_valid", 1),
        ("ctr_slot", 0x3f),
        ("ctr_offset", 0x2a_aaaa),
        ("sw0", 0x89ab_cdef),
        ("sw1", 0x0123_4567),
        ("rmw_op", 3),
        ("rmw_compare", 1),
        ("rmw_fetch", 1),
        ("rmw_test", 0xfedc_ba98_7654_3210),
    ] {
        let read = named(
            Subject::Descriptor,
            fields::descriptor::FIELDS,
            name,
            &bytes,
        );
        assert_eq!(read, value, "{name}");
    }
}

#[test]
fn hw5_hint_of_a_collective_reads_back_in_systemverilog() {
    let collective = Collective {
        op: CollOp::Max,
        dtype: CollType::I64,
        route: 0xa,
    };
    let mut bytes = [0; 64];
    let hint = collective.hint().expect("every value fits");
    bytes[..2].copy_from_slice(&hint.to_le_bytes());
    for (name, value) in [("op", 6), ("dtype", 3), ("route", 10)] {
        let read = named(Subject::Coll, fields::coll::FIELDS, name, &bytes);
        assert_eq!(read, value, "{name}");
    }
}

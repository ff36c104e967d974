// SPDX-License-Identifier: MIT OR Apache-2.0
//! Message bytes: the same in whatever pieces, different for different messages.

use gyre_goal::payload::{Key, MessageNumbers, Mismatch, check, fill};
use proptest::prelude::*;

const KEY: Key = Key {
    source: 1,
    destination: 2,
    tag: 3,
    number: 4,
};

fn bytes(key: &Key, offset: u64, length: usize) -> Vec<u8> {
    let mut buffer = vec![0; length];
    fill(key, offset, &mut buffer);
    buffer
}

#[test]
fn every_part_of_the_key_changes_the_bytes() {
    let other = [
        Key { source: 2, ..KEY },
        Key {
            destination: 1,
            ..KEY
        },
        Key { tag: 4, ..KEY },
        Key { number: 3, ..KEY },
        // Swapped fields are another message too.
        Key {
            source: 2,
            destination: 1,
            ..KEY
        },
        Key {
            tag: 4,
            number: 3,
            ..KEY
        },
    ];
    let own = bytes(&KEY, 0, 64);
    for key in other {
        let theirs = bytes(&key, 0, 64);
        let equal = own.iter().zip(&theirs).filter(|(a, b)| a == b).count();
        assert!(equal < 8, "{key:?}: {equal} of 64 bytes are equal");
    }
}

#[test]
fn bytes_are_pinned() {
    // By an independent computation of SplitMix64.
    let expected = [
        0x9d, 0xe5, 0x82, 0xe8, 0x75, 0xd6, 0x8c, 0xc7, 0x50, 0x42, 0xa7, 0xea, 0x38, 0x4c, 0x1e,
        0xbb,
    ];
    assert_eq!(bytes(&KEY, 0, 16), expected);
}

#[test]
fn mismatch_names_the_byte() {
    let mut received = bytes(&KEY, 100, 50);
    received[33] ^= 0x40;
    let expected = received[33] ^ 0x40;
    let mismatch = Mismatch {
        offset: 133,
        expected,
        found: received[33],
    };
    assert_eq!(check(&KEY, 100, &received), Err(mismatch));
    assert_eq!(
        mismatch.to_string(),
        format!(
            "payload byte 133: expected {expected:#04x}, found {:#04x}",
            received[33]
        )
    );
}

#[test]
fn numbers_count_per_peer_and_tag() {
    let mut numbers = MessageNumbers::new();
    let asked = [(1, 5), (1, 5), (2, 5), (1, 6), (1, 5)];
    assert_eq!(
        asked.map(|(peer, tag)| numbers.next(peer, tag)),
        [0, 1, 0, 0, 2]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_equal_the_whole(start in 0u64..1 << 40, cuts in prop::collection::vec(0usize..40, 1..12)) {
        let length = cuts.iter().sum();
        let whole = bytes(&KEY, start, length);
        let mut pieces = Vec::new();
        for cut in cuts {
            pieces.extend(bytes(&KEY, start + pieces.len() as u64, cut));
        }
        prop_assert_eq!(&pieces, &whole);
        prop_assert_eq!(check(&KEY, start, &whole), Ok(()));
    }

    #[test]
    fn any_changed_byte_is_found(start in 0u64..100, length in 1usize..100, at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut received = bytes(&KEY, start, length);
        let at = at.index(length);
        received[at] ^= flip;
        let mismatch = check(&KEY, start, &received).expect_err("changed");
        prop_assert_eq!(mismatch.offset, start + at as u64);
        prop_assert_eq!(mismatch.found, received[at]);
    }
}

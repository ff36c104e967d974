// SPDX-License-Identifier: MIT OR Apache-2.0
//! `refusal_log`: refused packets until software takes them.

use gyre_layout::registers::{refusal, refusals};
use gyre_layout::{ErrorReason, Kind};
use gyre_rtl_tests::{Unit, cases};
use proptest::prelude::*;

const ENTRIES: usize = refusals::ENTRY_COUNT as usize;

/// A refused packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refusal {
    reason: ErrorReason,
    place: u16,
    kind: Kind,
    software: u32,
    src: u32,
}

impl Refusal {
    const PUT: Self = Self {
        reason: ErrorReason::PktSlot,
        place: 7,
        kind: Kind::Put,
        software: 0x2abc_def0,
        src: 0x1234_5678,
    };

    fn info(self) -> u64 {
        refusal::info::SRC.put(self.src.into())
            | refusal::info::KIND.put(u8::from(self.kind).into())
            | refusal::info::SOFTWARE.put(self.software.into())
    }

    fn place(self, last: u32) -> u64 {
        refusal::place::REASON.put(u8::from(self.reason).into())
            | refusal::place::WHERE.put(self.place.into())
            | refusal::place::LAST.put(last.into())
    }

    /// `err_i`.
    fn error(self) -> u128 {
        let reason = u128::from(u8::from(self.reason));
        1 << 82 | reason << 74 | u128::from(self.place) << 64 | u128::from(self.info())
    }

    fn joins(self, (first, last): (Self, u32)) -> bool {
        (self.kind, self.src) == (first.kind, first.src)
            && [last, (last + 1) & 0x3fff_ffff].contains(&self.software)
            && (self.kind == Kind::Put || self.place == first.place)
    }
}

struct Log(Unit);

impl Log {
    fn new() -> Self {
        Self(Unit::new("refusals", 1))
    }

    fn set(&mut self, port: &str, value: u64) {
        self.0.set(self.0.port(port), 0, value);
    }

    /// One cycle: an error, and a register access. Gives what is read, `None` when it is refused.
    fn cycle(&mut self, error: Option<Refusal>, access: Option<(u64, Option<u64>)>) -> Option<u64> {
        let port = self.0.port("err_i");
        self.0.set_u128(port, 0, error.map_or(0, Refusal::error));
        let (addr, write) = access.unwrap_or_default();
        self.set("req_i", access.is_some().into());
        self.set("we_i", write.is_some().into());
        self.set("addr_i", addr);
        self.set("wdata_i", write.unwrap_or(0));
        self.0.eval().expect("no assertion fails");
        let refused = self.0.get(self.0.port("err_o"), 0) != 0;
        let read = self.0.get(self.0.port("rdata_o"), 0);
        self.0.tick().expect("no assertion fails");
        (!refused).then_some(read)
    }

    fn read(&mut self, addr: u64) -> u64 {
        self.cycle(None, Some((addr, None))).expect("mapped")
    }

    fn status(&mut self) -> (u64, u64) {
        let status = self.read(refusals::REFUSED);
        let lost = refusals::refused::LOST.get(status);
        (refusals::refused::VALID.get(status), lost)
    }

    fn entry(&mut self, index: usize) -> (u64, u64) {
        let at = refusals::entry(index as u64);
        (
            self.read(at + refusal::INFO),
            self.read(at + refusal::PLACE),
        )
    }
}

/// The unit in Rust.
#[derive(Default)]
struct Model {
    /// With its last software word.
    entries: [Option<(Refusal, u32)>; ENTRIES],
    lost: u64,
}

impl Model {
    fn take(&mut self, index: usize, last: u32) {
        if self.entries[index].is_some_and(|entry| entry.1 == last) {
            self.entries[index] = None;
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        let mut used = self.entries.iter_mut().flatten();
        if let Some(entry) = used.find(|entry| refusal.joins(**entry)) {
            entry.1 = refusal.software;
            return;
        }
        match self.entries.iter_mut().find(|entry| entry.is_none()) {
            Some(free) => *free = Some((refusal, refusal.software)),
            None => self.lost += 1,
        }
    }
}

fn any_refusal() -> impl Strategy<Value = Refusal> {
    let kind = prop_oneof![
        Just(Kind::MemFifo),
        Just(Kind::Put),
        Just(Kind::RemoteGet),
        Just(Kind::RmwReq)
    ];
    let reason = prop_oneof![
        Just(ErrorReason::PktTruncated),
        Just(ErrorReason::PktRecFifo),
        Just(ErrorReason::PktInjFifo),
        Just(ErrorReason::PktSlot),
        Just(ErrorReason::PktBounds),
        Just(ErrorReason::PktCounter),
        Just(ErrorReason::PktFlow),
        Just(ErrorReason::Write),
    ];
    (reason, 0..2_u16, kind, 0..5_u32, 0..2_u32).prop_map(|(reason, place, kind, word, src)| {
        Refusal {
            reason: match kind {
                // Others are answered.
                Kind::RmwReq => ErrorReason::PktTruncated,
                _ => reason,
            },
            place: place * 0x3ff,
            kind,
            // Words in a row, over the end as well.
            software: (word + 0x3fff_fffe) & 0x3fff_ffff,
            src: src * 0x1fff_ffff,
        }
    })
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn x5_refused_packets_are_kept_until_taken_and_all_are_counted(
        cycles in prop::collection::vec(
            (prop::option::of(any_refusal()), prop::option::weighted(0.2, 0..ENTRIES), any::<bool>()),
            1..120
        ),
    ) {
        let (mut log, mut model) = (Log::new(), Model::default());
        for (refusal, take, late) in cycles {
            // The last word as it was one refusal ago, or as it is.
            let taken = take.and_then(|index| {
                let last = model.entries[index]?.1;
                Some((index, last.wrapping_sub(late.into()) & 0x3fff_ffff))
            });
            let access = taken.map(|(index, last)| {
                let place = refusals::entry(index as u64) + refusal::PLACE;
                (place, Some(refusal::place::LAST.put(last.into())))
            });
            log.cycle(refusal, access);
            // What is refused while its entry is taken is kept.
            if let Some((index, last)) = taken {
                model.take(index, last);
            }
            if let Some(refusal) = refusal {
                model.refuse(refusal);
            }
            let valid = (0..ENTRIES).filter(|&index| model.entries[index].is_some());
            prop_assert_eq!(log.status(), (valid.map(|index| 1 << index).sum(), model.lost));
            for index in 0..ENTRIES {
                if let Some((first, last)) = model.entries[index] {
                    prop_assert_eq!(log.entry(index), (first.info(), first.place(last)));
                }
            }
        }
    }
}

#[test]
fn x5_errors_without_a_waiting_requester_are_not_recorded() {
    let mut log = Log::new();
    let kinds = [Kind::RmwReq, Kind::RmwResp, Kind::Collective, Kind::Invalid];
    for kind in kinds {
        log.cycle(
            Some(Refusal {
                kind,
                ..Refusal::PUT
            }),
            None,
        );
    }
    for code in 0..=0x60 {
        use ErrorReason as E;
        let Ok(reason) = ErrorReason::try_from(code) else {
            continue;
        };
        let recorded = matches!(
            reason,
            E::PktTruncated
                | E::PktRecFifo
                | E::PktInjFifo
                | E::PktSlot
                | E::PktBounds
                | E::PktCounter
                | E::PktFlow
                | E::Write
        );
        if !recorded {
            log.cycle(
                Some(Refusal {
                    reason,
                    ..Refusal::PUT
                }),
                None,
            );
        }
    }
    assert_eq!(log.status(), (0, 0));
    log.cycle(Some(Refusal::PUT), None);
    assert_eq!(log.status(), (1, 0));
}

#[test]
fn hw7_accesses_to_missing_or_read_only_refusal_registers_fail() {
    let mut log = Log::new();
    let end = refusals::entry(refusals::ENTRY_COUNT);
    for addr in (0..0x200).step_by(8) {
        let entry = (refusals::entry(0)..end).contains(&addr);
        let read = log.cycle(None, Some((addr, None)));
        assert_eq!(
            read.is_some(),
            entry || addr == refusals::REFUSED,
            "{addr:#x} read"
        );
        let written = log.cycle(None, Some((addr, Some(0))));
        assert_eq!(
            written.is_some(),
            entry && addr % 16 == 8,
            "{addr:#x} written"
        );
    }
}

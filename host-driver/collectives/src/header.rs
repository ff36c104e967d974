// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headers of messages of collectives. All numbers are little-endian, without gaps.

use gyre_driver::{Error as DriverError, TaskId};
use smallvec::SmallVec;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::initiator::Initiator;
use crate::reduction::kind::ReduceKind;
use crate::signature::Signature;

/// Marks flags of a user operation in place of the data type.
const USER: u8 = 128;

/// Bytes of a message; short ones, the usual case, need no allocation.
pub(crate) type Bytes = SmallVec<[u8; 64]>;

/// Fixed fields; the word of a user operation follows.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fields {
    geometry: U16,
    /// Form; initiator in the upper bits.
    form: u8,
    /// Collective; algorithm in the upper bits.
    kinds: u8,
    data: u8,
    op: u8,
    sequence: U32,
    from: U32,
    tag: U32,
    root: U32,
    length: U32,
    bytes: U64,
    part: U16,
}

/// Purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Packet number `part` of its data follows.
    Data { part: u16 },
    /// Its data stays with the sender until fetched (rendezvous).
    Announced,
    /// Not a schedule step: asks the member to follow (EP-9).
    Start,
    /// The sender has given the collective up.
    GivenUp,
    /// Not a schedule step: the sender has waited long on the collective network or in shared memory, which carry no
    /// signatures.
    Waits,
}

impl Form {
    /// Whether a receive of a schedule waits for it.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Data { .. } | Self::Announced)
    }
}

/// A message's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub geometry: u16,
    /// Number of the collective on the geometry.
    pub sequence: u32,
    /// Rank of the sender.
    pub from: u32,
    pub tag: u32,
    pub signature: Signature,
    /// Bytes of the data, all parts together.
    pub length: u32,
    pub form: Form,
}

impl Header {
    /// Header bytes of a message that contains data.
    pub fn bytes(&self) -> usize {
        match self.signature.reduction {
            ReduceKind::BuiltIn(..) => size_of::<Fields>(),
            ReduceKind::User { .. } => size_of::<Fields>() + size_of::<U32>(),
        }
    }

    /// The header of a message without data.
    pub fn control(
        geometry: u16,
        sequence: u32,
        from: u32,
        signature: Signature,
        form: Form,
    ) -> Self {
        Self {
            geometry,
            sequence,
            from,
            tag: 0,
            signature,
            length: 0,
            form,
        }
    }

    /// Encoded bytes.
    pub fn encode(&self) -> Bytes {
        let s = &self.signature;
        let mut part = 0;
        let form = match self.form {
            Form::Data { part: number } => {
                part = number;
                0
            }
            Form::Announced => 1,
            Form::Start => 2,
            Form::GivenUp => 3,
            Form::Waits => 4,
        };
        let (flags, reduction) = s.reduction.pack();
        // A user operation has its flags here and the rest in a further word.
        let [data, op, ..] = match flags {
            0 => reduction.to_le_bytes(),
            _ => [USER | flags, 0, 0, 0],
        };
        let fields = Fields {
            geometry: self.geometry.into(),
            form: form | (s.initiator as u8) << 4,
            kinds: s.collective as u8 | (s.algorithm as u8) << 4,
            data,
            op,
            sequence: self.sequence.into(),
            from: self.from.into(),
            tag: self.tag.into(),
            root: s.root.into(),
            length: self.length.into(),
            bytes: s.bytes.into(),
            part: part.into(),
        };
        let mut bytes = Bytes::from_slice(fields.as_bytes());
        if flags != 0 {
            bytes.extend_from_slice(&reduction.to_le_bytes());
        }
        bytes
    }

    /// Decodes the header of a message from `origin`. Returns it with its length in bytes.
    ///
    /// # Errors
    /// [`DriverError::ControlMessage`] for a malformed message.
    pub fn decode(bytes: &[u8], origin: TaskId) -> Result<(Self, usize), DriverError> {
        let wrong = |field, value: u64, expected| DriverError::ControlMessage {
            origin,
            message: "message of a collective",
            field,
            value,
            expected,
        };
        let cut = || wrong("length", bytes.len() as u64, "a whole header");
        let (fields, mut rest) = Fields::ref_from_prefix(bytes).map_err(|_| cut())?;
        let (reduction, flags) = match fields.data & USER {
            0 => (u32::from(fields.data) | u32::from(fields.op) << 8, 0),
            _ => {
                let (word, after) = U32::read_from_prefix(rest).map_err(|_| cut())?;
                rest = after;
                (word.get(), fields.data & !USER)
            }
        };
        let reduction = ReduceKind::unpack(flags, reduction)
            .map_err(|(field, value)| wrong(field, value, "a known code"))?;
        let unknown = |field, code: u8| wrong(field, code.into(), "a known code");
        let (collective, algorithm) = (fields.kinds & 15, fields.kinds >> 4);
        let initiator = fields.form >> 4;
        let signature = Signature {
            collective: *Collective::ALL
                .get(usize::from(collective))
                .ok_or_else(|| unknown("collective", collective))?,
            algorithm: *Algorithm::ALL
                .get(usize::from(algorithm))
                .ok_or_else(|| unknown("algorithm", algorithm))?,
            initiator: *Initiator::ALL
                .get(usize::from(initiator))
                .ok_or_else(|| unknown("initiator", initiator))?,
            reduction,
            root: fields.root.get(),
            bytes: fields.bytes.get(),
        };
        let form = match fields.form & 15 {
            0 => Form::Data {
                part: fields.part.get(),
            },
            1 => Form::Announced,
            2 => Form::Start,
            3 => Form::GivenUp,
            4 => Form::Waits,
            other => return Err(wrong("form", other.into(), "0 to 4")),
        };
        let header = Self {
            geometry: fields.geometry.get(),
            sequence: fields.sequence.get(),
            from: fields.from.get(),
            tag: fields.tag.get(),
            signature,
            length: fields.length.get(),
            form,
        };
        Ok((header, bytes.len() - rest.len()))
    }
}

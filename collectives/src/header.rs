//! What messages of collectives say about themselves. All numbers are little-endian, without gaps.

use gyre_driver::{Error as DriverError, TaskId};

use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::initiator::Initiator;
use crate::reduction::kind::ReduceKind;
use crate::signature::Signature;

/// Marks the flags of an operation of the user where else the type of the data stands.
const USER: u8 = 128;
/// Most bytes of a header: of an announcement, with an operation of the user.
const MOST: usize = 36 + 4 + 14;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Packet number `part` of its data follows.
    Data { part: u16 },
    /// Its data stays with the sender until it is received (rendezvous).
    Announced,
    /// No step of a schedule: the member is to follow (EP-9).
    Start,
    /// The sender has given the collective up.
    GivenUp,
    /// No step of a schedule: the sender has waited long, on the hardware's tree or in its node's memory, which do
    /// not tell who waits for what else.
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
    /// Bytes of the header of a message with data in it.
    pub fn bytes(&self) -> usize {
        match self.signature.reduction {
            ReduceKind::BuiltIn(..) => 36,
            ReduceKind::User { .. } => 36 + 4,
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

    pub fn encode(&self) -> Vec<u8> {
        let s = &self.signature;
        let mut number = 0;
        let form = match self.form {
            Form::Data { part } => {
                number = part;
                0
            }
            Form::Announced => 1,
            Form::Start => 2,
            Form::GivenUp => 3,
            Form::Waits => 4,
        };
        let (flags, reduction) = s.reduction.pack();
        // Of an operation of the user the flags, and the rest behind.
        let [data, op, ..] = match flags {
            0 => reduction.to_le_bytes(),
            _ => [USER | flags, 0, 0, 0],
        };
        let mut bytes = Vec::with_capacity(MOST);
        bytes.extend_from_slice(&self.geometry.to_le_bytes());
        bytes.extend_from_slice(&[
            form | (s.initiator as u8) << 4,
            s.collective as u8 | (s.algorithm as u8) << 4,
            data,
            op,
        ]);
        for word in [self.sequence, self.from, self.tag, s.root, self.length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&s.bytes.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        if flags != 0 {
            bytes.extend_from_slice(&reduction.to_le_bytes());
        }
        bytes
    }

    /// The header of a message from `origin`, and its bytes.
    ///
    /// # Errors
    /// [`DriverError::SystemMessage`] when it is none.
    pub fn decode(bytes: &[u8], origin: TaskId) -> Result<(Self, usize), DriverError> {
        let wrong = |field, value: u64, expected| DriverError::SystemMessage {
            origin,
            message: "message of a collective",
            field,
            value,
            expected,
        };
        let mut rest = bytes;
        let mut take = |width: usize| {
            let Some((field, tail)) = rest.split_at_checked(width) else {
                return Err(wrong("length", bytes.len() as u64, "a whole header"));
            };
            rest = tail;
            let mut value = [0; 8];
            value[..width].copy_from_slice(field);
            Ok(u64::from_le_bytes(value))
        };
        // Each value fits the width it was taken with.
        let geometry = take(2)? as u16;
        let (form, kinds, data, op) = (take(1)?, take(1)?, take(1)?, take(1)?);
        let (sequence, from, tag) = (take(4)? as u32, take(4)? as u32, take(4)? as u32);
        let (root, length) = (take(4)? as u32, take(4)? as u32);
        let (block, part) = (take(8)?, take(2)? as u16);
        // Each comes from 8 bits.
        let index = |value: u64| value as usize;
        let pick = |ok: bool, field, value| match ok {
            true => Ok(index(value)),
            false => Err(wrong(field, value, "a known code")),
        };
        let collectives = Collective::ALL.len();
        let collective = pick(index(kinds & 15) < collectives, "collective", kinds & 15)?;
        let algorithms = Algorithm::ALL.len();
        let algorithm = pick(index(kinds >> 4) < algorithms, "algorithm", kinds >> 4)?;
        let initiator = pick(
            index(form >> 4) < Initiator::ALL.len(),
            "initiator",
            form >> 4,
        )?;
        // Each comes from 8 bits.
        let (flags, reduction) = match data as u8 & USER {
            0 => (0, (data | op << 8) as u32),
            _ => (data as u8 & !USER, take(4)? as u32),
        };
        let reduction = ReduceKind::unpack(flags, reduction)
            .map_err(|(field, value)| wrong(field, value, "a known code"))?;
        let form = match form & 15 {
            0 => Form::Data { part },
            1 => Form::Announced,
            2 => Form::Start,
            3 => Form::GivenUp,
            4 => Form::Waits,
            other => return Err(wrong("form", other, "0 to 4")),
        };
        let header = Self {
            geometry,
            sequence,
            from,
            tag,
            signature: Signature {
                collective: Collective::ALL[collective],
                algorithm: Algorithm::ALL[algorithm],
                initiator: Initiator::ALL[initiator],
                reduction,
                root,
                bytes: block,
            },
            length,
            form,
        };
        Ok((header, bytes.len() - rest.len()))
    }
}

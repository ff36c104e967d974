// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control messages: the messages that contexts exchange for the protocols, as memory-FIFO messages of one
//! packet with dispatch identifiers of their own. All numbers are little-endian, without gaps.

use gyre_layout::{DESCRIPTOR_BYTES, MAX_PAYLOAD_BYTES};
use smallvec::SmallVec;
use strum::IntoStaticStr;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::task::TaskId;

/// First dispatch identifier that belongs to the driver; users have those below.
pub(crate) const FIRST_CONTROL: u8 = 224;

/// Most bytes of a header of a send, so that every protocol carries it in its first packet.
pub const MAX_HEADER: usize = 448;

/// The payload of a control message: inline up to the size of a descriptor.
pub(crate) type Bytes = SmallVec<[u8; DESCRIPTOR_BYTES]>;

/// Dispatch identifiers of control messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ControlMessage {
    /// [`Headed`]: a message with header or acknowledgement, and its data if they fit.
    Headed = 224,
    /// Data of the headed message before it, when it did not fit.
    Data = 225,
    /// [`Rts`]: request to send, the rendezvous protocol's first message (FN-3).
    Rts = 226,
    /// Acknowledgements: cookies of 4 bytes, 1 to 120 of them.
    Ack = 227,
    /// [`PutSync`]: requests an acknowledgement when the puts before it are in memory.
    PutSync = 228,
    /// [`Fence`] (FN-3).
    Fence = 229,
    /// [`FenceAck`] (FN-3).
    FenceAck = 230,
    /// [`GetFailed`]: a descriptor that came by remote get was refused.
    GetFailed = 231,
    /// Acknowledgements for recipients on one network path: for each its task, how many, and the cookies, 4
    /// bytes each (AK-4). It comes between any two packets of its origin.
    PathAck = 232,
    /// [`Refused`]: instead of an acknowledgement.
    Refused = 233,
    /// [`MessagesRefused`]: messages that will get no response were refused.
    MessagesRefused = 234,
    /// [`FlowRequest`]. It may come between any two packets of its origin.
    FlowRequest = 235,
    /// [`FlowGrant`]. It may come between any two packets of its origin, too.
    FlowGrant = 236,
    /// [`PutNotice`]: requests a callback at the target when the puts before it are in memory.
    PutNotice = 237,
}

/// Words in the payload of a path acknowledgement, and those of a recipient besides its cookies.
pub(crate) const PATH_ACK_WORDS: usize = MAX_PAYLOAD_BYTES / 4;
pub(crate) const PATH_ACK_ENTRY_WORDS: usize = 2;

impl ControlMessage {
    /// By number.
    const ALL: [Self; 14] = [
        Self::Headed,
        Self::Data,
        Self::Rts,
        Self::Ack,
        Self::PutSync,
        Self::Fence,
        Self::FenceAck,
        Self::GetFailed,
        Self::PathAck,
        Self::Refused,
        Self::MessagesRefused,
        Self::FlowRequest,
        Self::FlowGrant,
        Self::PutNotice,
    ];

    /// The message with this dispatch identifier.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL
            .get(usize::from(id.checked_sub(FIRST_CONTROL)?))
            .copied()
    }
}

/// Name of the control message with this dispatch identifier; `None` for identifiers of programs.
#[must_use]
pub fn control_message(dispatch: u8) -> Option<&'static str> {
    ControlMessage::from_id(dispatch).map(Into::into)
}

/// A malformed control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireError {
    pub message: &'static str,
    pub field: &'static str,
    pub value: u64,
    pub expected: &'static str,
}

/// A field of a message: little-endian and unaligned.
pub(crate) trait Field: Copy {
    /// Its bytes.
    type Wire: FromBytes
        + IntoBytes
        + Immutable
        + KnownLayout
        + Unaligned
        + Copy
        + From<Self>
        + Into<Self>;
}

impl Field for u8 {
    type Wire = Self;
}

impl Field for u16 {
    type Wire = U16;
}

impl Field for u32 {
    type Wire = U32;
}

impl Field for u64 {
    type Wire = U64;
}

/// A message by its fields.
pub(crate) trait Fields: Sized {
    /// Name of the message.
    const MESSAGE: &'static str;

    /// The fields at the start of `bytes`, and the bytes behind them.
    fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError>;

    /// The fields of a message without anything behind them.
    fn decode_all(bytes: &[u8]) -> Result<Self, WireError> {
        Self::decode(bytes).and_then(|decoded| end(Self::MESSAGE, decoded))
    }
}

/// The error of a message of `bytes` bytes that ends inside its `fields`: (name, bytes) of each.
#[cold]
pub(crate) fn cut(
    message: &'static str,
    fields: &[(&'static str, usize)],
    bytes: usize,
) -> WireError {
    let mut end = 0;
    let cut = fields.iter().find(|(_, size)| {
        end += size;
        end > bytes
    });
    WireError {
        message,
        field: cut.map_or("length", |(name, _)| name),
        value: bytes as u64,
        expected: "a message long enough to hold the field",
    }
}

/// Declares a message by its fields, in their order.
macro_rules! message {
    ($(#[$doc:meta])* $vis:vis $name:ident, $text:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const _: () = {
            use $crate::transport::wire::{Bytes, Field, Fields, WireError, cut};

            /// The fields in their layout.
            #[derive(
                zerocopy::FromBytes,
                zerocopy::IntoBytes,
                zerocopy::Immutable,
                zerocopy::KnownLayout,
                zerocopy::Unaligned,
            )]
            #[repr(C)]
            struct Wire {
                $($field: <$type as Field>::Wire,)*
            }

            impl $name {
                /// Bytes of the fields.
                pub(crate) const BYTES: usize = size_of::<Wire>();

                /// The fields' bytes.
                pub(crate) fn bytes(&self) -> [u8; $name::BYTES] {
                    let wire = Wire {
                        $($field: self.$field.into(),)*
                    };
                    zerocopy::transmute!(wire)
                }

                /// The fields' bytes, as a payload.
                pub(crate) fn encode(&self) -> Bytes {
                    Bytes::from_slice(&self.bytes())
                }
            }

            impl Fields for $name {
                const MESSAGE: &'static str = $text;

                fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
                    let Some((fields, rest)) = bytes.split_first_chunk::<{ $name::BYTES }>() else {
                        let fields = [$((stringify!($field), size_of::<$type>()),)*];
                        return Err(cut(Self::MESSAGE, &fields, bytes.len()));
                    };
                    let wire: Wire = zerocopy::transmute!(*fields);
                    let message = Self {
                        $($field: wire.$field.into(),)*
                    };
                    Ok((message, rest))
                }
            }
        };
    };
}
pub(crate) use message;

message! {
    /// An eager message that needs more fields than its packet header has. The header follows, then the data if the
    /// packet has room for all of it; else the next message of the flow is [`ControlMessage::Data`].
    pub(crate) Headed, "headed message" {
        /// To be acknowledged, or 0.
        cookie: u32,
        /// Bytes of the data.
        length: u32,
        /// Bytes of the header.
        header_length: u16,
        /// The user's dispatch identifier.
        dispatch: u8,
    }
}

message! {
    /// Request to send; the header follows.
    pub(crate) Rts, "request to send" {
        /// To be acknowledged when the data has been fetched.
        cookie: u32,
        /// Bytes of the data, at least 1.
        length: u32,
        /// Where the data is: byte offset in its slot.
        offset: u64,
        /// Base slot of the data at the origin.
        slot: u16,
        /// Bytes of the header.
        header_length: u16,
        /// The user's dispatch identifier.
        dispatch: u8,
    }
}

message! {
    /// Requests an acknowledgement once the puts of the flow before it are in memory.
    pub(crate) PutSync, "put synchronisation" {
        /// To be acknowledged.
        cookie: u32,
        /// Number of the put.
        number: u32,
    }
}

message! {
    /// Requests a callback at the target once the puts of the flow before it are in memory, and an acknowledgement
    /// then.
    pub(crate) PutNotice, "put notice" {
        /// To be acknowledged.
        cookie: u32,
        /// Number of the put.
        number: u32,
        /// Bytes of the put.
        length: u32,
        /// Where the put went: byte offset in its slot.
        offset: u64,
        /// The user's word.
        word: u64,
        /// Base slot of the put.
        slot: u16,
        /// The user's dispatch identifier for puts.
        dispatch: u8,
    }
}

message! {
    /// The origin's fence message.
    pub(crate) Fence, "fence" {
        /// Number of the fence at the origin.
        cookie: u32,
        /// Number of the last put before it.
        number: u32,
        /// 1 where puts before it may be under way, else 0.
        puts: u8,
    }
}

impl Fence {
    /// Whether puts before it may be under way.
    ///
    /// # Errors
    /// When the field is neither.
    pub fn follows_puts(&self) -> Result<bool, WireError> {
        match self.puts {
            0 => Ok(false),
            1 => Ok(true),
            puts => Err(WireError {
                message: "fence",
                field: "puts",
                value: puts.into(),
                expected: "0 or 1",
            }),
        }
    }
}

message! {
    /// Everything before the fence has completed at the target.
    pub(crate) FenceAck, "fence acknowledgement" {
        /// Number of the fence at the origin.
        cookie: u32,
        /// [`FenceAck::DONE`], [`FenceAck::FAILED`] or [`FenceAck::REFUSED`].
        outcome: u8,
    }
}

impl FenceAck {
    /// Everything has completed.
    pub const DONE: u8 = 0;
    /// The target could not determine the outcome.
    pub const FAILED: u8 = 1;
    /// Puts before the fence were refused.
    pub const REFUSED: u8 = 2;
}

message! {
    /// A put was refused at its target, or the data of a message could not be fetched.
    pub(crate) Refused, "refusal" {
        /// Cookie of the put or message.
        cookie: u32,
        /// [`Refused::PUT`] or [`Refused::DATA`].
        what: u8,
    }
}

impl Refused {
    /// A put.
    pub const PUT: u8 = 0;
    /// The data of a message.
    pub const DATA: u8 = 1;
}

message! {
    /// A remote get was refused, or its descriptor where it should have been injected.
    pub(crate) GetFailed, "failed get" {
        /// Number of the get at the requester, or its counter, [`GetFailed::BY_COUNTER`].
        get: u32,
        /// Reason code.
        reason: u8,
        /// Process that was to serve the get, on the sender's node.
        process: u8,
        /// Context that was to serve the get.
        context: u8,
    }
}

impl GetFailed {
    /// Added to the word of a counter, which packs slot, 10 bits, and index, of a read-modify-write that may belong to
    /// another context.
    pub const BY_COUNTER: u32 = 1 << 31;
}

message! {
    /// Messages to a context of the sender's node were refused.
    pub(crate) MessagesRefused, "refused messages" {
        /// Process of the context.
        process: u8,
        /// The context.
        context: u8,
        /// Reason code.
        reason: u8,
        /// [`MessagesRefused::CONTROL`], [`MessagesRefused::PLAIN`] or [`MessagesRefused::UNKNOWN`].
        what: u8,
    }
}

impl MessagesRefused {
    /// Messages of the driver.
    pub const CONTROL: u8 = 0;
    /// Messages of the user's without a response are among them.
    pub const PLAIN: u8 = 1;
    /// The node does not know the origins of the refused messages and gets, and the context is not open.
    pub const UNKNOWN: u8 = 2;
}

message! {
    /// Requests a target-side context of an ordered-dynamic flow (HW-4).
    pub(crate) FlowRequest, "flow request" {
        /// Class of the flow's packets.
        vclass: u8,
        /// Number of the flow at the origin's node.
        flow: u8,
        /// Time of the request, by which the origin tells its requests apart: simulated time, ps.
        requested_at: u64,
    }
}

message! {
    /// Response to [`FlowRequest`].
    pub(crate) FlowGrant, "flow grant" {
        /// As in the request.
        vclass: u8,
        /// As in the request.
        flow: u8,
        /// As in the request.
        requested_at: u64,
        /// Number of the flow at the sender's node, or [`FlowGrant::NONE`].
        number: u8,
    }
}

impl FlowGrant {
    /// Denied: the target has no context free.
    pub const NONE: u8 = 0xff;
}

impl Headed {
    /// The fields, the header and the data of a headed message with this payload.
    #[inline]
    pub fn open(payload: &[u8]) -> Result<(Self, &[u8], &[u8]), WireError> {
        let (fields, rest) = Self::decode(payload)?;
        let (header, data) = split_header(Self::MESSAGE, rest, fields.header_length)?;
        Ok((fields, header, data))
    }
}

impl Rts {
    /// The fields and the header of a request to send with this payload.
    pub fn open(payload: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (fields, rest) = Self::decode(payload)?;
        let (header, rest) = split_header(Self::MESSAGE, rest, fields.header_length)?;
        end(Self::MESSAGE, ((fields, header), rest))
    }
}

/// Splits the header off the bytes behind the fields of a message.
fn split_header<'a>(
    message: &'static str,
    rest: &'a [u8],
    header_length: u16,
) -> Result<(&'a [u8], &'a [u8]), WireError> {
    rest.split_at_checked(usize::from(header_length))
        .ok_or(WireError {
            message,
            field: "header_length",
            value: u64::from(header_length),
            expected: "at most what the packet holds",
        })
}

/// Checks that nothing follows the fields of a message.
pub(crate) fn end<T>(message: &'static str, (fields, rest): (T, &[u8])) -> Result<T, WireError> {
    if rest.is_empty() {
        return Ok(fields);
    }
    Err(WireError {
        message,
        field: "length",
        value: rest.len() as u64,
        expected: "0 bytes after the fields",
    })
}

/// The payload of an ACK message.
pub(crate) fn encode_cookies(cookies: &[u32]) -> Bytes {
    cookies.iter().flat_map(|c| c.to_le_bytes()).collect()
}

/// The cookies in the payload of an ACK message.
pub(crate) fn decode_cookies(bytes: &[u8]) -> Result<impl Iterator<Item = u32>, WireError> {
    let (cookies, rest) = bytes.as_chunks::<4>();
    if cookies.is_empty() || !rest.is_empty() || bytes.len() > MAX_PAYLOAD_BYTES {
        return Err(WireError {
            message: "acknowledgement",
            field: "length",
            value: bytes.len() as u64,
            expected: "a multiple of 4, at least 4",
        });
    }
    Ok(cookies.iter().map(|&cookie| u32::from_le_bytes(cookie)))
}

/// The payload of a path acknowledgement.
pub(crate) fn encode_path_ack<'a>(recipients: impl Iterator<Item = (TaskId, &'a [u32])>) -> Bytes {
    let entry = |(task, cookies): (TaskId, &'a [u32])| {
        [task.0, cookies.len() as u32]
            .into_iter()
            .chain(cookies.iter().copied())
    };
    recipients
        .flat_map(entry)
        .flat_map(u32::to_le_bytes)
        .collect()
}

/// The cookies for `task` in the payload of a path acknowledgement, of which there is at least one.
pub(crate) fn decode_path_ack(bytes: &[u8], task: TaskId) -> Result<Vec<u32>, WireError> {
    let wrong = |field, value, expected| WireError {
        message: "path acknowledgement",
        field,
        value,
        expected,
    };
    let (words, rest) = bytes.as_chunks::<4>();
    let length = "whole entries of task, count and cookies";
    if !rest.is_empty() {
        return Err(wrong("length", bytes.len() as u64, length));
    }
    let mut words = words.iter().map(|&word| u32::from_le_bytes(word));
    let mut own = Vec::new();
    while let Some(recipient) = words.next() {
        let count = words.next().unwrap_or(0) as usize;
        let cookies: Vec<u32> = words.by_ref().take(count).collect();
        if count == 0 || cookies.len() < count {
            return Err(wrong("length", bytes.len() as u64, length));
        }
        if recipient == task.0 {
            own.extend(cookies);
        }
    }
    if own.is_empty() {
        let expected = "among the recipients, to whom alone copies go";
        return Err(wrong("task", task.0.into(), expected));
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fn3_control_messages_round_trip_in_their_layout() {
        let rts = Rts {
            cookie: 0x0403_0201,
            length: 0x0807_0605,
            offset: 0x100f_0e0d_0c0b_0a09,
            slot: 0x1211,
            header_length: 0x1413,
            dispatch: 0x15,
        };
        let mut bytes = rts.encode();
        assert_eq!(bytes[..], (1..=0x15).collect::<Vec<u8>>());
        assert_eq!(bytes.len(), Rts::BYTES);
        bytes.push(9);
        assert_eq!(Rts::decode(&bytes), Ok((rts, &[9][..])));
        const { assert!(Rts::BYTES + MAX_HEADER <= MAX_PAYLOAD_BYTES) };
        const { assert!(Headed::BYTES + MAX_HEADER <= MAX_PAYLOAD_BYTES) };
    }

    #[test]
    fn x5_malformed_messages_name_field_and_value() {
        let short = Rts::decode(&[0; 9]).expect_err("offset is cut");
        assert_eq!((short.field, short.value), ("offset", 9));
        let long = end("fence", Fence::decode(&[0; 12]).expect("long enough"));
        assert_eq!(long.map_err(|e| (e.field, e.value)), Err(("length", 3)));
        for (puts, follows) in [(0, Ok(false)), (1, Ok(true)), (2, Err(("puts", 2)))] {
            let bytes = [0, 0, 0, 0, 0, 0, 0, 0, puts];
            let (fence, _) = Fence::decode(&bytes).expect("long enough");
            let said = fence.follows_puts().map_err(|e| (e.field, e.value));
            assert_eq!(said, follows);
        }
        let header = split_header("request to send", &[1, 2], 3).expect_err("cut");
        assert_eq!((header.field, header.value), ("header_length", 3));
        for bad in [0, 3, 5] {
            assert_eq!(
                decode_cookies(&[0; 8][..bad]).err().map(|e| e.value),
                Some(bad as u64)
            );
        }
        let cookies = decode_cookies(&[1, 0, 0, 0, 0, 1, 0, 0]).expect("two");
        assert_eq!(cookies.collect::<Vec<_>>(), [1, 256]);
        for kind in ControlMessage::ALL {
            assert_eq!(ControlMessage::from_id(kind as u8), Some(kind));
        }
        assert_eq!(ControlMessage::from_id(223), None);
        assert_eq!(ControlMessage::from_id(238), None);
        assert_eq!(
            ControlMessage::from_id(231),
            Some(ControlMessage::GetFailed)
        );
    }

    #[test]
    fn ak4_x5_a_path_acknowledgement_decodes_to_own_cookies() {
        let recipients = [(TaskId(7), &[1, 2][..]), (TaskId(9), &[3])];
        let bytes = encode_path_ack(recipients.into_iter());
        assert_eq!(bytes.len(), 4 * (2 * PATH_ACK_ENTRY_WORDS + 3));
        assert_eq!(decode_path_ack(&bytes, TaskId(7)), Ok(vec![1, 2]));
        assert_eq!(decode_path_ack(&bytes, TaskId(9)), Ok(vec![3]));
        let field = |bytes: &[u8], task| decode_path_ack(bytes, task).map_err(|e| e.field);
        assert_eq!(field(&bytes, TaskId(8)), Err("task"));
        for cut in [1, 4, 8, 12, 20, 27] {
            assert_eq!(field(&bytes[..cut], TaskId(7)), Err("length"), "{cut}");
        }
        assert_eq!(field(&[], TaskId(7)), Err("task"));
    }
}

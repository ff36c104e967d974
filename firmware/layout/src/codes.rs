// SPDX-License-Identifier: MIT OR Apache-2.0
//! Enumerations of the hardware, with their codes.

use core::fmt;

use crate::LayoutError;

/// Declares an enumeration with the codes of the hardware and a description of each value.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident in $field:literal { $($variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = $text] $variant = $code,)*
        }

        impl $name {
            /// Every value, in order of its code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
        }

        impl TryFrom<u8> for $name {
            type Error = LayoutError;
            fn try_from(code: u8) -> Result<Self, LayoutError> {
                match code {
                    $($code => Ok(Self::$variant),)*
                    value => Err(LayoutError::Code { field: $field, value }),
                }
            }
        }

        impl crate::field::FieldValue for $name {
            #[inline(always)]
            fn to_bits(self) -> Result<u64, LayoutError> {
                Ok(self as u64)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Result<Self, LayoutError> {
                Self::try_from(bits as u8)
            }
        }

        impl From<$name> for u8 {
            fn from(value: $name) -> u8 {
                value as u8
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }
    };
}

codes! {
    /// Purpose of a packet or a descriptor: `kind_e` in SystemVerilog.
    Kind in "kind" {
        Invalid = 0, "invalid";
        MemFifo = 1, "memory FIFO";
        Put = 2, "direct put";
        RemoteGet = 3, "remote get";
        RmwReq = 4, "read-modify-write request";
        RmwResp = 5, "read-modify-write response";
        Collective = 6, "collective";
        Control = 7, "control";
    }
}

codes! {
    /// Virtual-channel class: `vclass_e` in SystemVerilog. Priority and system carry memory-FIFO packets alone, by fixed
    /// routes. Packets of one injection FIFO are in order within a class.
    VClass in "vclass" {
        Request = 0, "request";
        Response = 1, "response";
        Priority = 2, "priority";
        System = 3, "system";
    }
}

impl VClass {
    /// The classes of messages, which are memory-FIFO packets (HW-1).
    pub const MESSAGES: [Self; 3] = [Self::Request, Self::Priority, Self::System];
}

codes! {
    /// Operation of a read-modify-write: `rmw_op_e` in SystemVerilog.
    RmwOp in "rmw_op" {
        Set = 0, "set";
        Add = 1, "add";
        Or = 2, "or";
        And = 3, "and";
        Xor = 4, "xor";
    }
}

codes! {
    /// Operation of a collective: `coll_op_e` in SystemVerilog. Operations on floating point: [`CollType::F64`].
    CollOp in "op" {
        Broadcast = 0, "broadcast";
        And = 1, "and";
        Or = 2, "or";
        Xor = 3, "xor";
        Add = 4, "add";
        Min = 5, "min";
        Max = 6, "max";
    }
}

codes! {
    /// Elements of a collective's payload: `coll_dtype_e` in SystemVerilog.
    CollType in "dtype" {
        U32 = 0, "32-bit unsigned integer, modulo 2^32";
        I32 = 1, "32-bit signed integer, modulo 2^32";
        U64 = 2, "64-bit unsigned integer, modulo 2^64";
        I64 = 3, "64-bit signed integer, modulo 2^64";
        F64 = 4, "IEEE 754 binary64: add, minimum and maximum alone; a NaN that comes out is 0x7ff8_0000_0000_0000";
    }
}

codes! {
    /// Reason of an error, in `ERR_STATUS` and in the status of an injection FIFO: `err_e` in SystemVerilog.
    ErrorReason in "reason" {
        None = 0x00, "no error";
        DescKind = 0x01, "descriptor: unknown or unsupported kind";
        DescReserved = 0x02, "descriptor: reserved field not zero, or remote mark where it may not be";
        DescClass = 0x03, "descriptor: class wrong for the kind";
        DescRouting = 0x04, "descriptor: hint or order without dynamic route or against it, or deposit where it may not be";
        DescDest = 0x05, "descriptor: destination outside the machine";
        DescSlot = 0x06, "descriptor: source slot invalid or without right";
        DescOwner = 0x07, "descriptor: source slot of another owner";
        DescBounds = 0x08, "descriptor: source range leaves its slot";
        DescRemote = 0x09, "descriptor from a remote get that is no put to its requester";
        DescLength = 0x0a, "remote get whose payload is no whole number of descriptors, 1 to 8";
        DescRead = 0x0b, "descriptor fetch answered with an error";
        PayloadRead = 0x0c, "payload read answered with an error";
        DescRmw = 0x0d, "read-modify-write of unknown operation, or with an operand of other than 4 or 8 bytes";
        DescRoute = 0x0e, "collective on a class route that is not valid here, without this node, or of another owner";
        DescColl = 0x0f, "collective of unknown operation or element type, or that cuts an element in two";
        DescFlow = 0x10, "flow that is not open for this destination, class and owner, or of a packet that cannot have one";
        PktKind = 0x20, "packet: kind that this node does not serve";
        PktTruncated = 0x21, "packet cut short by a link going down, or length and flits disagree";
        PktDest = 0x22, "packet for another node ejected here";
        PktRecFifo = 0x23, "packet: reception FIFO absent or disabled";
        PktInjFifo = 0x24, "packet: injection FIFO absent, disabled or not open to remote gets";
        PktSlot = 0x25, "packet: slot invalid or without the right: write, or atomic for a read-modify-write";
        PktBounds = 0x26, "packet: range leaves its slot";
        PktCounter = 0x27, "packet: counter slot invalid, without atomic right, or out of bounds";
        PktReserved = 0x28, "packet: reserved header field not zero";
        Write = 0x29, "memory write answered with an error";
        CounterUnderflow = 0x2a, "byte counter went below zero";
        CounterAccess = 0x2b, "byte counter read or write answered with an error";
        PktOwner = 0x2c, "read-modify-write: slot of another owner than the injection FIFO";
        PktRmw = 0x2d, "read-modify-write of unknown operation, wrong length, or not aligned to its operand";
        RmwAccess = 0x2e, "read-modify-write: read or write answered with an error";
        PktFlow = 0x2f, "flow that is not open for this source and class, or sequence number outside its window or twice";
        LinkCrc = 0x40, "link: running CRC or sequence number differs";
        LinkDown = 0x41, "link down: packet dropped";
        LinkProtocol = 0x42, "link: flit without credit space, credit without flit, or flits that make no packet";
        RouteUnreachable = 0x43, "no route: dimension absent or line too short";
        LinkSideBand = 0x44, "link: parity of valid, credit, state and barrier wires differs";
        CollRoute = 0x50, "collective malformed, on a class route that is not valid here, or from an input not in it";
        CollMismatch = 0x51, "contributors to a collective disagree about it";
        CollBarrier = 0x52, "barrier arrival on a barrier route without this input, or twice, or its link is down";
        ResetMemory = 0x60, "soft reset: memory has not ended its transactions 2,048 cycles later";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_returns_to_its_value() {
        for &reason in ErrorReason::ALL {
            assert_eq!(ErrorReason::try_from(u8::from(reason)), Ok(reason));
        }
        for &kind in Kind::ALL {
            assert_eq!(Kind::try_from(u8::from(kind)), Ok(kind));
        }
    }

    #[test]
    fn code_without_meaning_is_refused() {
        let refused = ErrorReason::try_from(0x1f);
        assert_eq!(
            refused,
            Err(LayoutError::Code {
                field: "reason",
                value: 0x1f
            })
        );
        assert!(Kind::try_from(8).is_err());
        assert!(VClass::try_from(4).is_err());
    }
}

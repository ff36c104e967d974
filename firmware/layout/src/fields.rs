// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bit fields of every packed struct that software and hardware share, each named in one place.

/// Declares the fields of a packed struct: one named constant each, and all of them as `FIELDS`, lowest bit first.
macro_rules! bit_fields {
    ($(#[$doc:meta])* $module:ident: $bits:literal bits; $($constant:ident $name:literal $lsb:literal +: $width:literal;)*) => {
        $(#[$doc])*
        pub mod $module {
            use crate::BitField;

            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: BitField = BitField { name: $name, lsb: $lsb, width: $width };
            )*

            /// All fields, lowest bit first.
            pub const FIELDS: &[BitField] = &[$($constant),*];
            const _: () = {
                let mut next = 0;
                let mut index = 0;
                while index < FIELDS.len() {
                    let BitField { lsb, width, .. } = FIELDS[index];
                    assert!(lsb == next, "fields overlap or leave a gap");
                    assert!(lsb / 64 == (lsb + width - 1) / 64, "a field lies in two words");
                    next += width;
                    index += 1;
                }
                assert!(next == $bits, "fields do not fill their struct");
            };
        }
    };
}

bit_fields! {
    /// Fields of a packet header, lowest bit first: `header_t` in SystemVerilog.
    header: 256 bits;
    DST "dst" 0 +: 30;
    VCLASS "vclass" 30 +: 2;
    SRC "src" 32 +: 30;
    DEPOSIT "deposit" 62 +: 1;
    DYNAMIC "dynamic_route" 63 +: 1;
    KIND "kind" 64 +: 4;
    LEN "len" 68 +: 10;
    HINT "hint" 78 +: 10;
    FIRST "first" 88 +: 1;
    LAST "last" 89 +: 1;
    ORDER "order" 90 +: 3;
    FLOW "flow" 93 +: 3;
    SEQ "seq" 96 +: 10;
    BIRTH "birth" 106 +: 6;
    TARGET "target" 112 +: 10;
    FLOW_VALID "flow_valid" 122 +: 1;
    FLOW_SEQ "flow_seq" 123 +: 5;
    OFFSET "offset" 128 +: 32;
    AUX "aux" 160 +: 32;
    SW0 "sw0" 192 +: 32;
    SW1 "sw1" 224 +: 32;
}

bit_fields! {
    /// Fields of a descriptor, lowest bit first: `desc_t` in SystemVerilog.
    descriptor: 512 bits;
    KIND "kind" 0 +: 4;
    DEPOSIT "deposit" 4 +: 1;
    DYNAMIC "dynamic_route" 5 +: 1;
    HINT "hint" 6 +: 10;
    ORDER "order" 16 +: 3;
    FLOW_VALID "flow_valid" 19 +: 1;
    FLOW "flow" 20 +: 3;
    RSVD5 "rsvd5" 23 +: 8;
    REMOTE "remote" 31 +: 1;
    DST "dst" 32 +: 30;
    VCLASS "vclass" 62 +: 2;
    LENGTH "length" 64 +: 32;
    SRC_OFF_HI "src_off_hi" 96 +: 8;
    RSVD4 "rsvd4" 104 +: 2;
    SRC_SLOT "src_slot" 106 +: 10;
    TARGET "target" 116 +: 10;
    RSVD0 "rsvd0" 126 +: 2;
    SRC_OFF_LO "src_off_lo" 128 +: 32;
    CTR_SLOT "ctr_slot" 160 +: 10;
    CTR_OFFSET "ctr_offset" 170 +: 22;
    DST_OFF_LO "dst_off_lo" 192 +: 32;
    DST_OFF_HI "dst_off_hi" 224 +: 8;
    RSVD1 "rsvd1" 232 +: 23;
    CTR_VALID "ctr_valid" 255 +: 1;
    SW0 "sw0" 256 +: 32;
    SW1 "sw1" 288 +: 32;
    MSG_ID "msg_id" 320 +: 32;
    RMW_OP "rmw_op" 352 +: 3;
    RMW_COMPARE "rmw_compare" 355 +: 1;
    RMW_FETCH "rmw_fetch" 356 +: 1;
    RSVD2 "rsvd2" 357 +: 27;
    REQUESTER "requester" 384 +: 32;
    RSVD3 "rsvd3" 416 +: 32;
    RMW_TEST "rmw_test" 448 +: 64;
}

bit_fields! {
    /// Fields of the control word of a link, lowest bit first: `link_word_t` in SystemVerilog.
    link: 32 bits;
    CTL "ctl" 0 +: 2;
    VALID "valid" 2 +: 1;
    VC "vc" 3 +: 3;
    HEAD "head" 6 +: 1;
    TAIL "tail" 7 +: 1;
    ERR "err" 8 +: 1;
    CHECK "check" 9 +: 16;
    CREDIT "credit" 25 +: 1;
    CREDIT_VC "credit_vc" 26 +: 4;
    VC_HIGH "vc_high" 30 +: 1;
    PARITY "parity" 31 +: 1;
}

bit_fields! {
    /// Fields of the word `aux` of a request, lowest bit first: `rmw_aux_t` in SystemVerilog. The payload of a
    /// request is bytes 32 to 63 of its descriptor.
    rmw_aux: 32 bits;
    OFFSET_HI "offset_hi" 0 +: 8;
    CTR_VALID "ctr_valid" 8 +: 1;
    RESULT_SLOT "result_slot" 9 +: 10;
    RESULT_OFF_HI "result_off_hi" 19 +: 8;
    OWNER "owner" 27 +: 4;
    WIDE "wide" 31 +: 1;
}

bit_fields! {
    /// Fields of `hint` of a collective, lowest bit first: `coll_t` in SystemVerilog.
    coll: 10 bits;
    ROUTE "route" 0 +: 4;
    DTYPE "dtype" 4 +: 3;
    OP "op" 7 +: 3;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Records that go into and out of a run of some cycles, as 64-bit words. `src/record.rs` holds the
// same layout.
//
// In:  first the number of link records, then they: {cycle << 8 | port, word | dbg << 32, data...}. Those of
//      a port are in order. Ports: the torus; of a node then the tree of the collective network (parent, child 0, child 1), then the barrier wires of
//      these three, whose data are 16 pulses and whose word is kLinkValid with any pulse, else 0.
//      Then any of (first word: tag | a << 8 | b << 16 | c << 32):
//        ReadData   a=master b=id c=beats; due cycle; a beat: {resp, data[8]}
//        WriteResp  a=master b=id c=resp; due cycle
//        Register   a=port b=write; due cycle; address; data
//        Stall      a=master b=channels (bit 0 AR, 1 AW, 2 W); until cycle
//        Packet     b=class c=dbg; due cycle; paths it may take, a bit each; header[4] (network only)
// Out: first word: tag | a << 8 | b << 16 | cycles since the start << 32:
//        LinkWord   a=port; word | dbg << 32, data...
//        ReadAddr   a=master; address; len | size << 8 | burst << 16 | id << 24
//        WriteAddr  as ReadAddr
//        WriteData  a=master b=last; dbg; strobe; data[8]
//        RegisterResp a=port b=resp; data
//        Levels     wake_o | irq_o << 16
//        PacketOut  a=path b=class | err << 8; header[4]; cycle of the tail        (network only)
//        End        b=1: quiet; cycle of the next event inside, or all ones; cycles evaluated
#pragma once

#include <cstdint>

namespace gyre {

enum class In : uint8_t { ReadData = 1, WriteResp, Register, Stall, Packet };

enum class Out : uint8_t {
    LinkWord = 1,
    ReadAddr,
    WriteAddr,
    WriteData,
    RegisterResp,
    Levels,
    PacketOut,
    End,
};

constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint32_t kLinkValid = 1u << 2;  // link_word_t.valid

}  // namespace gyre

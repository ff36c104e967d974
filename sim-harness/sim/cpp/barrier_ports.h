/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The barrier wires of a node's tree ports: 16 pulses beside each tree link, in records as of a link.
#pragma once

#include "out_buffer.h"

namespace gyre {

template <int Ports, int DataWords>
class BarrierPorts {
public:
    // Makes all inputs quiet.
    template <class Pins>
    void init(Pins& pins) {
        for (int p = 0; p < Ports; p++) pins.bar_i(p) = 0;
    }

    // Whether an input holds a pulse: each cycle of it counts.
    bool busy() const { return busy_ != 0; }

    // Whether an input changed or held a pulse in the last driven cycle.
    bool arrived() const { return arrived_; }

    // A cycle begins; its records follow by `apply`.
    void begin() { arrived_ = busy_ != 0; }

    // Drives the inputs of port `p` from a record.
    template <class Pins>
    void apply(Pins& pins, int p, const uint64_t* record) {
        arrived_ = true;
        const uint16_t pulses = static_cast<uint16_t>(record[2]);
        pins.bar_i(p) = pulses;
        busy_ = pulses ? busy_ | 1u << p : busy_ & ~(1u << p);
    }

    // `first` is the number of the first of these ports.
    template <class Pins>
    void record(Pins& pins, uint64_t cycle, int first, OutBuffer& out) {
        sending_ = false;
        for (int p = 0; p < Ports; p++) {
            const uint16_t pulses = pins.bar_o(p);
            sending_ |= pulses != 0;
            if (pulses == last_[p] && !pulses) continue;
            last_[p] = pulses;
            out.open(Out::LinkWord, cycle, first + p);
            uint64_t* to = out.extend(1 + DataWords);
            to[0] = pulses ? kLinkValid : 0;
            to[1] = pulses;
            for (int w = 1; w < DataWords; w++) to[1 + w] = 0;
        }
    }

    // Whether an output carried a pulse in the last recorded cycle.
    bool sending() const { return sending_; }

private:
    uint16_t last_[Ports] = {};
    uint32_t busy_ = 0;
    bool arrived_ = false;
    bool sending_ = false;
};

}  // namespace gyre

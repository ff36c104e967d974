/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// AXI4-Lite master: one access at a time, in order.
#pragma once

#include "out_buffer.h"

#include <algorithm>
#include <deque>

namespace gyre {

class RegisterMaster {
public:
    void add(bool write, uint64_t due, uint64_t addr, uint64_t data) {
        queue_.push_back({due, addr, data, write});
    }

    // Drops all accesses: the node is in reset until cycle `end`, and is offered nothing.
    void clear(uint64_t end) {
        queue_.clear();
        open_ = end;
        state_ = State::Idle;
        addr_ = data_ = quiet_ = false;
    }

    // Cycle in which something is to be done.
    uint64_t next_cycle() const { return queue_.empty() ? kNever : std::max(queue_.front().due, open_); }
    bool busy() const { return state_ != State::Idle; }
    // Whether the inputs offer an address or data.
    bool offers() const { return inputs_ & ~kReady; }

    // Drives the inputs of the clock edge in `cycle`, and records what it transfers.
    template <class Pins>
    void drive(Pins& pins, unsigned port, uint64_t cycle, OutBuffer& out) {
        if (quiet_ && next_cycle() > cycle) return;
        bool answered = false;
        if (state_ == State::Read && pins.r_valid_o()) {
            answer(port, cycle, pins.r_resp_o(), pins.r_data_o(), out);
            answered = true;
        } else if (state_ == State::Write && pins.b_valid_o()) {
            answer(port, cycle, pins.b_resp_o(), 0, out);
            answered = true;
        }
        if (!answered && state_ == State::Idle && next_cycle() <= cycle) {
            start(pins);
        }
        const unsigned inputs = kReady | unsigned(data_) << 3 | (addr_ ? (state_ == State::Write ? 1u : 2u) : 0u);
        if (inputs != inputs_) {
            inputs_ = inputs;
            pins.b_ready_i() = 1;
            pins.r_ready_i() = 1;
            pins.aw_valid_i() = inputs & 1;
            pins.ar_valid_i() = inputs >> 1 & 1;
            pins.w_valid_i() = inputs >> 3;
        }
        if (addr_ && (state_ == State::Write ? pins.aw_ready_o() : pins.ar_ready_o())) {
            addr_ = false;
        }
        if (data_ && pins.w_ready_o()) data_ = false;
        quiet_ = state_ == State::Idle;
    }

private:
    static constexpr unsigned kReady = 1u << 2;  // in `inputs_`

    enum class State { Idle, Read, Write };
    struct Access {
        uint64_t due;
        uint64_t addr;
        uint64_t data;
        bool write;
    };

    template <class Pins>
    void start(Pins& pins) {
        const Access& access = queue_.front();
        state_ = access.write ? State::Write : State::Read;
        addr_ = true;
        data_ = access.write;
        if (access.write) {
            pins.aw_addr_i() = access.addr;
            pins.w_data_i() = access.data;
            pins.w_strb_i() = 0xff;
        } else {
            pins.ar_addr_i() = access.addr;
        }
        queue_.pop_front();
    }

    void answer(unsigned port, uint64_t cycle, unsigned resp, uint64_t data, OutBuffer& out) {
        out.open(Out::RegisterResp, cycle, port, resp);
        out.push(data);
        state_ = State::Idle;
    }

    std::deque<Access> queue_;
    uint64_t open_ = 0;  // first cycle after the last reset
    State state_ = State::Idle;
    bool addr_ = false;  // the address was not taken yet
    bool data_ = false;  // the write data was not taken yet
    bool quiet_ = false; // the inputs are those of no access
    unsigned inputs_ = 0;  // as driven last: aw_valid, ar_valid, ready, w_valid
};

}  // namespace gyre

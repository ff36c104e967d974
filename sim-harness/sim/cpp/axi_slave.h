/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// AXI4 memory slave, wire side: handshakes cycle by cycle. Addresses and write data go out as
// records; read data and write responses wait here until they are due and are sent in order of it.
#pragma once

#include "bits.h"
#include "out_buffer.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

namespace gyre {

// Seeded choice of the cycles in which a ready input is low.
struct Stalls {
    uint64_t seed = 0;
    uint32_t percent = 0;

    bool at(uint64_t cycle, unsigned master, unsigned channel) const {
        if (percent == 0) return false;
        uint64_t x = seed ^ (cycle * 12 + master * 3 + channel) * 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return (x ^ x >> 31) % 100 < percent;
    }
};

template <int Masters>
class AxiSlave {
public:
    static constexpr int kBeatWords = 8;

    void set_stalls(Stalls stalls) { stalls_ = stalls; }

    void stall_until(unsigned master, unsigned channels, uint64_t until) {
        for (unsigned c = 0; c < 3; c++) {
            if (channels >> c & 1) stall_until_[master][c] = until;
        }
        stalled_until_ = std::max(stalled_until_, until);
    }

    // Takes {beats} x {resp, data} at `in`; returns what follows.
    const uint64_t* add_read_data(unsigned master, unsigned id, unsigned beats, uint64_t due,
                                  const uint64_t* in) {
        const size_t words = size_t(beats) * (1 + kBeatWords);
        insert(reads_[master], Answer{due, id, 0, beats, {in, in + words}});
        return in + words;
    }

    void add_write_response(unsigned master, unsigned id, unsigned resp, uint64_t due) {
        insert(writes_[master], Answer{due, id, resp, 1, {}});
    }

    // Drops all answers: the node is reset.
    void clear() {
        for (int m = 0; m < Masters; m++) {
            reads_[m].clear();
            writes_[m].clear();
            beat_[m] = 0;
            for (Held& held : held_[m]) held.valid = false;
        }
        next_ = kNever;
    }

    // Cycle of the next answer.
    uint64_t next_cycle() const { return next_; }

    // Whether the node waits to hand something over.
    template <class Pins>
    bool requested(Pins& pins) const {
        return (pins.m_ar_valid_o() | pins.m_aw_valid_o() | pins.m_w_valid_o()) != 0;
    }

    // Drives the inputs of the clock edge in `cycle`, and records what it transfers.
    template <class Pins>
    void drive(Pins& pins, uint64_t cycle, OutBuffer& out) {
        const uint32_t ar = pins.m_ar_valid_o(), aw = pins.m_aw_valid_o(), w = pins.m_w_valid_o();
        const bool stalls = stalls_.percent != 0 || stalled_until_ > cycle;
        changed_ = false;
        // Nothing to hand over, and the inputs say so already.
        if (inputs_ == kQuiet && !(ar | aw | w | held_any_ | stalls) && next_cycle() > cycle) return;
        uint32_t ready[3] = {kAll, kAll, kAll};
        for (int m = 0; m < Masters && stalls; m++) {
            for (unsigned c = 0; c < 3; c++) {
                if (stall_until_[m][c] > cycle || stalls_.at(cycle, m, c)) ready[c] &= ~(1u << m);
            }
        }
        pins.m_ar_ready_i() = ready[0];
        pins.m_aw_ready_i() = ready[1];
        pins.m_w_ready_i() = ready[2];
        if (ar | aw | w | held_any_) {
            held_any_ = false;
            for (int m = 0; m < Masters; m++) {
                transfer(ar >> m & 1, ready[0] >> m & 1, held_[m][0], m, "AR",
                         Address{pins.m_ar_addr_o(m), fields(pins.m_ar_len_o(m), pins.m_ar_size_o(m),
                                                             pins.m_ar_burst_o(m), pins.m_ar_id_o(m))},
                         Out::ReadAddr, cycle, out);
                transfer(aw >> m & 1, ready[1] >> m & 1, held_[m][1], m, "AW",
                         Address{pins.m_aw_addr_o(m), fields(pins.m_aw_len_o(m), pins.m_aw_size_o(m),
                                                             pins.m_aw_burst_o(m), pins.m_aw_id_o(m))},
                         Out::WriteAddr, cycle, out);
                write_data(pins, w >> m & 1, ready[2] >> m & 1, m, cycle, out);
            }
        }
        if (next_ <= cycle || (inputs_ & kAnswers) != 0) {
            read_answers(pins, cycle);
            write_answers(pins, cycle);
            find_next();
        }
        uint64_t inputs = 0;
        for (const uint64_t field : {uint64_t(ready[0]), uint64_t(ready[1]), uint64_t(ready[2]),
                                     uint64_t(pins.m_r_last_i()), uint64_t(pins.m_r_valid_i()),
                                     uint64_t(pins.m_b_valid_i())}) {
            inputs = inputs << Masters | field;
        }
        // With an answer, what belongs to it changes too.
        changed_ = inputs != inputs_ || (inputs & kAnswers) != 0;
        inputs_ = inputs;
    }

    // Whether the last `drive` changed an input.
    bool changed() const { return changed_; }

private:
    static constexpr uint32_t kAll = (1u << Masters) - 1;
    // Handshake inputs, see `drive`: valid read data and write responses; all ready, and no answer.
    static constexpr uint64_t kAnswers = (uint64_t{1} << 2 * Masters) - 1;
    static constexpr uint64_t kQuiet = ((uint64_t{1} << 3 * Masters) - 1) << 3 * Masters;

    struct Answer {
        uint64_t due;
        unsigned id;
        unsigned resp;
        unsigned beats;
        std::vector<uint64_t> data;
    };
    struct Address {
        uint64_t addr;
        uint64_t fields;
    };
    // Offer of a channel in the last cycle that was not taken: it must not change.
    struct Held {
        bool valid = false;
        uint64_t words[2 + kBeatWords] = {};
    };

    static uint64_t fields(uint64_t len, uint64_t size, uint64_t burst, uint64_t id) {
        return len | size << 8 | burst << 16 | id << 24;
    }

    // By due cycle; those of the same cycle in order of insertion.
    void insert(std::deque<Answer>& queue, Answer answer) {
        next_ = std::min(next_, answer.due);
        auto at = queue.end();
        while (at != queue.begin() && std::prev(at)->due > answer.due) --at;
        queue.insert(at, std::move(answer));
    }

    void find_next() {
        next_ = kNever;
        for (int m = 0; m < Masters; m++) {
            if (!reads_[m].empty()) next_ = std::min(next_, reads_[m].front().due);
            if (!writes_[m].empty()) next_ = std::min(next_, writes_[m].front().due);
        }
    }

    // True if the offer is taken in this cycle.
    bool offer(bool valid, bool ready, Held& held, int m, const char* channel,
               const uint64_t* words, size_t count) {
        if (held.valid && (!valid || !std::equal(words, words + count, held.words))) {
            throw std::runtime_error(std::string("AXI master ") + std::to_string(m) + ": "
                                     + channel + (valid ? " changed" : " was withdrawn")
                                     + " while it was not ready");
        }
        held.valid = valid && !ready;
        if (held.valid) {
            std::copy(words, words + count, held.words);
            held_any_ = true;
        }
        return valid && ready;
    }

    void transfer(bool valid, bool ready, Held& held, int m, const char* channel, Address address,
                  Out tag, uint64_t cycle, OutBuffer& out) {
        if (!valid && !held.valid) return;
        const uint64_t words[2] = {address.addr, address.fields};
        if (!offer(valid, ready, held, m, channel, words, 2)) return;
        out.open(tag, cycle, m);
        out.push(words[0]);
        out.push(words[1]);
    }

    template <class Pins>
    void write_data(Pins& pins, bool valid, bool ready, int m, uint64_t cycle, OutBuffer& out) {
        Held& held = held_[m][2];
        if (!valid && !held.valid) return;
        uint64_t words[2 + kBeatWords];
        const bool last = pins.m_w_last_o() >> m & 1;
        words[0] = last;
        words[1] = pins.m_w_strb_o(m);
        get(pins.m_w_data_o(m), words + 2);
        if (!offer(valid, ready, held, m, "W", words, 2 + kBeatWords)) return;
        out.open(Out::WriteData, cycle, m, last);
        uint64_t* const record = out.extend(2 + kBeatWords);
        record[0] = pins.m_w_dbg_o(m);
        std::copy(words + 1, words + 2 + kBeatWords, record + 1);
    }

    template <class Pins>
    void read_answers(Pins& pins, uint64_t cycle) {
        uint32_t valid = 0, last = 0;
        const uint32_t ready = pins.m_r_ready_o();
        for (int m = 0; m < Masters; m++) {
            auto& queue = reads_[m];
            if (queue.empty() || queue.front().due > cycle) continue;
            const Answer& burst = queue.front();
            const uint64_t* beat = burst.data.data() + size_t(beat_[m]) * (1 + kBeatWords);
            valid |= 1u << m;
            pins.m_r_id_i(m) = burst.id;
            pins.m_r_resp_i(m) = beat[0];
            put(pins.m_r_data_i(m), beat + 1);
            const bool is_last = beat_[m] + 1 == burst.beats;
            last |= uint32_t(is_last) << m;
            if (ready >> m & 1) {
                if (is_last) {
                    queue.pop_front();
                    beat_[m] = 0;
                } else {
                    beat_[m]++;
                    // Until its last beat a burst stays the one that is sent.
                    queue.front().due = 0;
                }
            }
        }
        pins.m_r_valid_i() = valid;
        pins.m_r_last_i() = last;
    }

    template <class Pins>
    void write_answers(Pins& pins, uint64_t cycle) {
        uint32_t valid = 0;
        const uint32_t ready = pins.m_b_ready_o();
        for (int m = 0; m < Masters; m++) {
            auto& queue = writes_[m];
            if (queue.empty() || queue.front().due > cycle) continue;
            valid |= 1u << m;
            pins.m_b_id_i(m) = queue.front().id;
            pins.m_b_resp_i(m) = queue.front().resp;
            if (ready >> m & 1) queue.pop_front();
        }
        pins.m_b_valid_i() = valid;
    }

    Stalls stalls_;
    uint64_t stall_until_[Masters][3] = {};
    uint64_t stalled_until_ = 0;  // the last of them
    std::deque<Answer> reads_[Masters];
    std::deque<Answer> writes_[Masters];
    unsigned beat_[Masters] = {};
    Held held_[Masters][3];
    bool held_any_ = false;
    uint64_t next_ = kNever;  // of all answers
    uint64_t inputs_ = 0;
    bool changed_ = false;
};

}  // namespace gyre

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Records on their way out of a run.
#pragma once

#include "records.h"

#include <vector>

namespace gyre {

class OutBuffer {
public:
    void clear(uint64_t start) {
        start_ = start;
        words_.clear();
    }
    void open(Out tag, uint64_t cycle, unsigned a, unsigned b = 0) {
        words_.push_back(uint64_t(tag) | uint64_t(a) << 8 | uint64_t(b) << 16
                         | (cycle - start_) << 32);
    }
    void push(uint64_t word) { words_.push_back(word); }
    // Room for `count` words, to be filled by the caller at once.
    uint64_t* extend(size_t count) {
        words_.resize(words_.size() + count);
        return words_.data() + words_.size() - count;
    }
    const uint64_t* data() const { return words_.data(); }
    size_t size() const { return words_.size(); }

private:
    uint64_t start_ = 0;
    std::vector<uint64_t> words_;
};

}  // namespace gyre

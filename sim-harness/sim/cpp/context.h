/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The Verilator context of a machine's models and their common waveform.
#pragma once

#include "cycle_signal.h"
#include "model.h"

#include "verilated.h"
#include "verilated_vcd_c.h"

#include <memory>
#include <stdexcept>

namespace gyre {

class ModelContext final : public SimContext {
public:
    ModelContext(bool traced, bool noise, uint32_t seed) {
        verilated.randReset(noise ? 2 : 0);
        verilated.randSeed(static_cast<int>(seed));
        if (traced) verilated.traceEverOn(true);
    }

    void open_trace(const char* file, const char* const* scopes, size_t count) override {
        trace_ = std::make_unique<VerilatedVcdC>();
        verilated.trace(trace_.get(), 99);
        cycle_.add_to(*trace_->spTrace());
        for (size_t i = 0; i < count; i++) trace_->dumpvars(99, scopes[i]);
        if (count != 0) trace_->dumpvars(99, CycleSignal::kScope);
        trace_->open(file);
        if (!trace_->isOpen()) {
            trace_.reset();
            throw std::runtime_error("cannot be written");
        }
    }

    void dump_trace(uint64_t cycle, uint64_t ps) override {
        cycle_.cycle = cycle;
        if (trace_) trace_->dump(ps);
    }

    void close_trace() override {
        if (trace_) trace_->close();
        trace_.reset();
    }

    VerilatedContext verilated;

private:
    std::unique_ptr<VerilatedVcdC> trace_;
    CycleSignal cycle_;
};

}  // namespace gyre

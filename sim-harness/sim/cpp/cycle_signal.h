/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Signal `machine.cycle` of a waveform: the cycle that is written.
//
// It is declared after the signals of all models and always shown. Verilator 5.048 keeps the signals that `dumpvars`
// chose in a vector that ends soon after the last of them, and looks at all of them: with this one chosen there is
// none beyond the end.
#pragma once

#include "verilated_vcd_c.h"

#include <cstdint>

namespace gyre {

class CycleSignal {
public:
    static constexpr const char* kScope = "machine";

    // After the models have been added to `trace`.
    void add_to(VerilatedVcd& trace) {
        trace.addInitCb(&CycleSignal::declare, this, kScope, false, kCodes);
        trace.addFullCb(&CycleSignal::write, 0, this);
        trace.addChgCb(&CycleSignal::write, 0, this);
    }

    uint64_t cycle = 0;

private:
    static constexpr uint32_t kCodes = 2;  // 32-bit words of its value

    static void declare(void* self, VerilatedVcd* trace, uint32_t code) {
        static_cast<CycleSignal*>(self)->code_ = code;
        trace->pushPrefix(kScope, VerilatedTracePrefixType::SCOPE_MODULE);
        trace->declQuad(code, "cycle", 63, 0);
        trace->popPrefix();
    }

    static void write(void* self, VerilatedVcd::Buffer* buffer) {
        const CycleSignal& signal = *static_cast<CycleSignal*>(self);
        buffer->fullQData(buffer->oldp(signal.code_), signal.cycle, 64);
    }

    uint32_t code_ = 0;
};

}  // namespace gyre

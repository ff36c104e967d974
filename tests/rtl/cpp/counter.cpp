// SPDX-License-Identifier: MIT OR Apache-2.0
// Counters on one clock, in one Verilator context; src/counter.rs has the other side.
#include "Vcounter.h"
#include "verilated_vcd_c.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

class Bench {
public:
    Bench(const char* const* names, size_t count, bool randomize, int32_t seed) {
        context_.randReset(randomize ? 2 : 0);
        context_.randSeed(seed);
        if (Vcounter::traceCapable) context_.traceEverOn(true);
        for (size_t i = 0; i < count; i++) models_.push_back(std::make_unique<Vcounter>(&context_, names[i]));
        for (auto& model : models_) {
            model->clk_i = 0;
            model->en_i = 0;
            model->rst_ni = 1;
            model->eval();
            model->rst_ni = 0;
            model->eval();
            model->rst_ni = 1;
            model->eval();
        }
    }

    void open_trace(const char* file) {
        trace_ = std::make_unique<VerilatedVcdC>();
        context_.trace(trace_.get(), 99);
        trace_->open(file);
        trace_->dump(context_.time());
    }

    void close_trace() {
        if (trace_) trace_->close();
        trace_.reset();
    }

    // Null, or the text of a failed assertion.
    const char* cycle(uint32_t enabled) {
        try {
            step(enabled);
            return nullptr;
        } catch (const std::exception& error) {
            failure_ = error.what();
            return failure_.c_str();
        }
    }

    uint64_t count(size_t index) const { return models_.at(index)->count_o; }
    uint64_t noise(size_t index) const { return models_.at(index)->noise_o; }

private:
    void step(uint32_t enabled) {
        for (size_t i = 0; i < models_.size(); i++) models_[i]->en_i = (enabled >> i) & 1;
        for (int clk = 1; clk >= 0; clk--) {
            context_.timeInc(1);
            for (auto& model : models_) {
                model->clk_i = clk;
                model->eval();
            }
            if (trace_) trace_->dump(context_.time());
        }
    }

    VerilatedContext context_;
    std::vector<std::unique_ptr<Vcounter>> models_;
    std::unique_ptr<VerilatedVcdC> trace_;
    std::string failure_;
};

void* make(const char* const* names, size_t count, bool randomize, int32_t seed) {
    return new Bench(names, count, randomize, seed);
}
void drop(void* bench) { delete static_cast<Bench*>(bench); }
void open_trace(void* bench, const char* file) { static_cast<Bench*>(bench)->open_trace(file); }
void close_trace(void* bench) { static_cast<Bench*>(bench)->close_trace(); }
const char* cycle(void* bench, uint32_t enabled) { return static_cast<Bench*>(bench)->cycle(enabled); }
uint64_t count(void* bench, size_t index) { return static_cast<Bench*>(bench)->count(index); }
uint64_t noise(void* bench, size_t index) { return static_cast<Bench*>(bench)->noise(index); }

struct Entry {
    void* (*make)(const char* const* names, size_t count, bool randomize, int32_t seed);
    void (*drop)(void* bench);
    void (*open_trace)(void* bench, const char* file);
    void (*close_trace)(void* bench);
    const char* (*cycle)(void* bench, uint32_t enabled);
    uint64_t (*count)(void* bench, size_t index);
    uint64_t (*noise)(void* bench, size_t index);
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Entry* gyre_counters() {
    static const Entry entry{make, drop, open_trace, close_trace, cycle, count, noise};
    return &entry;
}

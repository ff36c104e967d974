#include "gyre-verilate-tests/src/counter.h"

#include "Vcounter.h"
#include "VcounterTraced.h"
#include "verilated_vcd_c.h"

#include <string>
#include <vector>

namespace {

template <class Model>
class BenchOf final : public Bench {
public:
    BenchOf(rust::Slice<const rust::String> names, bool randomize, int32_t seed) {
        context_.randReset(randomize ? 2 : 0);
        context_.randSeed(seed);
        if (Model::traceCapable) context_.traceEverOn(true);
        for (const rust::String& name : names) {
            models_.push_back(std::make_unique<Model>(&context_, std::string(name).c_str()));
        }
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

    void open_trace(rust::Str file) override {
        trace_ = std::make_unique<VerilatedVcdC>();
        context_.trace(trace_.get(), 99);
        trace_->open(std::string(file).c_str());
        trace_->dump(context_.time());
    }

    void close_trace() override {
        if (trace_) trace_->close();
        trace_.reset();
    }

    void cycle(uint32_t enabled) override {
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

    uint64_t count(size_t index) const override { return models_.at(index)->count_o; }
    uint64_t noise(size_t index) const override { return models_.at(index)->noise_o; }

private:
    VerilatedContext context_;
    std::vector<std::unique_ptr<Model>> models_;
    std::unique_ptr<VerilatedVcdC> trace_;
};

}  // namespace

std::unique_ptr<Bench> new_bench(rust::Slice<const rust::String> names, bool traced,
                                 bool randomize, int32_t seed) {
    if (traced) return std::make_unique<BenchOf<VcounterTraced>>(names, randomize, seed);
    return std::make_unique<BenchOf<Vcounter>>(names, randomize, seed);
}

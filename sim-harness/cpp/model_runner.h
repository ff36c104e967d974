// Clocks a Verilated model; the wire side (`Wires`) drives and records around each rising edge.
#pragma once

#include "context.h"
#include "node.h"
#include "out_buffer.h"

#include <algorithm>
#include <string>

namespace gyre {

// Parts of the evaluation of a model: `inputs`, what depends on inputs; `look`, comparison of its clocks and resets with
// those that it saw last; `edges`, what follows from those that differ. The second makes other edges only where it
// changes the model's own `reset`.
template <class Model>
struct Parts;

// `Wires` has: load(in), drive(model, cycle, out), record(model, cycle, out), clear(), finish(),
// quiet(model) (nothing that the model offers or is offered), next_cycle() (of its own events),
// lower(model), raise(model, all) for the clocks of units: `all` of them, or those that need it, and
// changed(model): whether an input that more than registers look at is another than in the cycle before.
template <class Model, class Wires>
class ModelRunner final : public SimNode {
public:
    template <class... Args>
    ModelRunner(std::shared_ptr<SimContext> context, const std::string& name, Args&&... args)
        : context_(std::move(context)),
          model_(&context_->verilated, name.c_str()),
          wires_(model_, std::forward<Args>(args)...) {
        model_.clk_i = 0;
        wires_.lower(model_);
        model_.rst_ni = 1;
        model_.eval();
        model_.rst_ni = 0;
        model_.eval();
        // With all inputs quiet; nothing is offered in reset.
        wires_.drive(model_, 0, out_);
        for (int i = 0; i < kResetCycles; i++) {
            rise(false);
            model_.clk_i = 0;
            wires_.lower(model_);
            model_.eval();
        }
        model_.rst_ni = 1;
        model_.eval();
    }

    ~ModelRunner() override { model_.final(); }

    rust::Slice<const uint64_t> run(uint64_t start, uint32_t cycles, bool skip,
                                    rust::Slice<const uint64_t> input) override {
        out_.clear(start);
        cycle_ = start;
        wires_.load(input.data(), input.data() + input.size());
        const uint64_t end = start + cycles;
        uint64_t evaluated = 0;
        while (cycle_ < end) {
            const uint64_t event = next_event(cycle_);
            if (event > cycle_ && skip) {
                cycle_ = std::min(event, end);
                continue;
            }
            if (was_idle_ && wires_.next_cycle() <= cycle_) was_idle_ = false;
            model_.rst_ni = cycle_ >= reset_end_;
            wires_.drive(model_, cycle_, out_);
            rise(skip);
            wires_.record(model_, cycle_, out_);
            // Twice in a row, in case idle_o is a register itself.
            const bool idle = model_.rst_ni && model_.idle_o && wires_.quiet(model_);
            settled_ = idle && was_idle_;
            was_idle_ = idle;
            evaluated++;
            cycle_++;
        }
        wires_.finish();
        out_.open(Out::End, end - 1, 0, settled_);
        out_.push(next_event(end));
        out_.push(evaluated);
        return {out_.data(), out_.size()};
    }

    void fall() override {
        if (!model_.clk_i) return;
        model_.clk_i = 0;
        wires_.lower(model_);
        model_.eval();
    }

    void reset(uint64_t cycle) override {
        wires_.clear();
        reset_end_ = cycle + kResetCycles;
        model_.rst_ni = 0;
        // What was offered is withdrawn at once: reset is asynchronous.
        model_.eval();
        settled_ = was_idle_ = false;
    }

    uint64_t cycle() const override { return cycle_; }
    uint32_t ports() const override { return Wires::kPorts; }
    uint32_t masters() const override { return Wires::kMasters; }

private:
    static constexpr int kResetCycles = 4;

    // A rising edge, with the inputs as they are. With `skip`, what changes nothing is not evaluated.
    void rise(bool skip) {
        // An evaluation computes first what depends on inputs, then sees an edge if the clock was low when it looked
        // last. It looks here, and no more: evaluating the low clocks would compute the same twice.
        model_.clk_i = 0;
        wires_.lower(model_);
        Parts<Model>::look(model_.rootp);
        model_.clk_i = 1;
        wires_.raise(model_, !skip);
        const bool changed = wires_.changed(model_);
        if (!skip) {
            // All of it, with what a waveform needs.
            model_.eval();
            return;
        }
        if (changed) Parts<Model>::inputs(model_.rootp);
        bool reset;
        do {
            reset = Parts<Model>::reset(model_.rootp);
            Parts<Model>::look(model_.rootp);
            Parts<Model>::edges(model_.rootp);
        } while (Parts<Model>::reset(model_.rootp) != reset);
    }

    // The first cycle from `now` on in which something can change.
    uint64_t next_event(uint64_t now) {
        if (!settled_) return now;
        return std::max(now, wires_.next_cycle());
    }

    std::shared_ptr<SimContext> context_;
    Model model_;
    Wires wires_;
    OutBuffer out_;
    uint64_t cycle_ = 0;
    uint64_t reset_end_ = 0;
    bool settled_ = false;
    bool was_idle_ = false;
};

}  // namespace gyre

// Clocks a Verilated model; the wire side (`Wires`) drives and records around each rising edge.
#pragma once

#include "clock_edges.h"
#include "context.h"
#include "model.h"
#include "out_buffer.h"

#include <algorithm>
#include <exception>
#include <vector>

namespace gyre {

// `Wires` has: load(in), drive(model, cycle, out), record(model, cycle, out), clear(), finish(),
// quiet(model) (nothing that the model offers or is offered), next_cycle() (of its own events),
// kUnitCount units with clocks of their own, clock(model, units), which sets those, clocks(model), which of them are high,
// units(model): those that need one, clocked(units): those that had one, and
// changed(): whether an input, the reset aside, that more than registers look at is another than in the cycle before.
template <class Model, class Wires>
class ModelRunner final : public SimNode {
public:
    template <class... Args>
    ModelRunner(std::shared_ptr<ModelContext> context, const char* name, Args&&... args)
        : context_(std::move(context)),
          model_(&context_->verilated, name),
          wires_(model_, std::forward<Args>(args)...) {
        lower();
        model_.rst_ni = 1;
        model_.eval();
        model_.rst_ni = 0;
        model_.eval();
        // With all inputs quiet; nothing is offered in reset.
        wires_.drive(model_, 0, out_);
        for (int i = 0; i < kResetCycles; i++) {
            rise();
            fall();
        }
        model_.rst_ni = 1;
        model_.eval();
        edges_ = &Edges::of(model_);
    }

    ~ModelRunner() override { model_.final(); }

    void start(uint64_t start, uint32_t cycles, bool skip, Words input) override {
        out_.clear(start);
        cycle_ = start;
        end_ = start + cycles;
        skip_ = skip;
        evaluated_ = 0;
        broken_ = nullptr;
        guard([&] { wires_.load(input.data, input.data + input.size); });
    }

    // What breaks in one node is kept for its `output`; the others go on.
    void run(SimNode* const* others, size_t count) override {
        together_.assign(1, this);
        for (size_t i = 0; i < count; i++) together_.push_back(static_cast<ModelRunner*>(others[i]));
        for (uint64_t cycle = cycle_; cycle < end_; cycle++) {
            rising_.clear();
            for (ModelRunner* node : together_) {
                bool rises = false;
                node->guard([&] { rises = node->begin(cycle); });
                if (rises) rising_.push_back(node);
            }
            evaluate(rising_);
            for (ModelRunner* node : rising_) {
                node->guard([&] {
                    node->settle_resets();
                    node->complete();
                });
            }
        }
        for (ModelRunner* node : together_) {
            node->guard([&] { node->leave(); });
        }
    }

    Words output() override {
        if (broken_) std::rethrow_exception(broken_);
        return {out_.data(), out_.size()};
    }

    void fall() override {
        if (!wires_.clocks(model_)) return;
        lower();
        model_.eval();
    }

    void reset(uint64_t cycle) override {
        wires_.clear();
        reset_end_ = cycle + kResetCycles;
        model_.rst_ni = 0;
        // What was offered is withdrawn at once: reset is asynchronous.
        model_.eval();
        reset_seen_ = false;
        settled_ = was_idle_ = false;
    }

    uint64_t cycle() const override { return cycle_; }
    uint32_t ports() const override { return Wires::kPorts; }
    uint32_t masters() const override { return Wires::kMasters; }

private:
    static constexpr int kResetCycles = 4;

    using Edges = ClockEdges<Model, Wires>;

    void lower() { wires_.clock(model_, 0); }

    // Does what is to be done unless the node is broken, and notes what breaks.
    template <class Action>
    void guard(Action&& action) {
        if (broken_) return;
        try {
            action();
        } catch (...) {
            broken_ = std::current_exception();
        }
    }

    // Begins a cycle unless it is skipped or evaluated as a whole. True if the edges noted are to be evaluated.
    bool begin(uint64_t cycle) {
        if (cycle_ > cycle) return false;
        const uint64_t event = next_event(cycle_);
        if (event > cycle_ && skip_) {
            cycle_ = std::min(event, end_);
            return false;
        }
        if (was_idle_ && wires_.next_cycle() <= cycle_) was_idle_ = false;
        model_.rst_ni = cycle_ >= reset_end_;
        wires_.drive(model_, cycle_, out_);
        if (skip_) {
            note_edges();
            return true;
        }
        rise();
        complete();
        return false;
    }

    // Evaluates what follows from the edges that the nodes noted: a step for all nodes before the next one, since its code
    // then comes into the processor's first cache once.
    static void evaluate(const std::vector<ModelRunner*>& nodes) {
        const auto* step = Parts<Model>::steps();
        const auto* const end = Parts<Model>::steps_end();
        size_t next = 0;  // node to take the step
        while (step != end) {
            try {
                for (; step != end; ++step, next = 0) {
                    for (; next < nodes.size(); ++next) {
                        if (!nodes[next]->broken_) (*step)(nodes[next]->model_.rootp);
                    }
                }
            } catch (...) {
                nodes[next++]->broken_ = std::current_exception();
            }
        }
    }

    void complete() {
        wires_.record(model_, cycle_, out_);
        // Twice in a row, in case idle_o is a register itself.
        const bool idle = model_.rst_ni && model_.idle_o && wires_.quiet(model_);
        settled_ = idle && was_idle_;
        was_idle_ = idle;
        evaluated_++;
        cycle_++;
    }

    void leave() {
        wires_.finish();
        out_.open(Out::End, end_ - 1, 0, settled_);
        out_.push(next_event(end_));
        out_.push(evaluated_);
    }

    // A rising edge of all clocks, with the inputs as they are: all is evaluated, with what a waveform needs.
    void rise() {
        lower_seen();
        wires_.clock(model_, Edges::kAll);
        wires_.clocked(Edges::kAll);
        model_.eval();
        reset_seen_ = model_.rst_ni;
    }

    // An evaluation sees an edge if the clock was low when it looked last. Evaluating the low clocks would compute the same
    // twice.
    void lower_seen() {
        if (!wires_.clocks(model_)) return;
        lower();
        Parts<Model>::look(model_.rootp);
    }

    // Computes what depends on inputs, and notes the edges of the clocks that are needed: the clocks of the model stay low,
    // it is told what their edges trigger.
    void note_edges() {
        auto* root = model_.rootp;
        lower_seen();
        const bool reset_changed = reset_seen_ != model_.rst_ni;
        if (reset_changed || wires_.changed()) Parts<Model>::inputs(root);
        if (reset_changed) {
            reset_seen_ = model_.rst_ni;
            Parts<Model>::look(root);
        }
        reset_ = Parts<Model>::reset(root);
        const auto units = wires_.units(model_);
        Parts<Model>::triggered(root) |= edges_->triggered(units);
        wires_.clocked(model_.rst_ni ? units : Edges::kAll);
    }

    // After the steps: evaluates the edges of resets that the model made itself.
    void settle_resets() {
        auto* root = model_.rootp;
        Parts<Model>::triggered(root) = 0;
        while (Parts<Model>::reset(root) != reset_) {
            wires_.clocked(Edges::kAll);
            reset_ = Parts<Model>::reset(root);
            Parts<Model>::look(root);
            Parts<Model>::edges(root);
        }
    }

    // The first cycle from `now` on in which something can change.
    uint64_t next_event(uint64_t now) {
        if (!settled_) return now;
        return std::max(now, wires_.next_cycle());
    }

    std::shared_ptr<ModelContext> context_;
    Model model_;
    Wires wires_;
    const Edges* edges_ = nullptr;
    OutBuffer out_;
    // Of a run: this node and the others, and those with edges in the cycle under way.
    std::vector<ModelRunner*> together_, rising_;
    std::exception_ptr broken_;
    uint64_t cycle_ = 0;
    uint64_t end_ = 0;
    uint64_t evaluated_ = 0;
    uint64_t reset_end_ = 0;
    bool skip_ = false;
    bool reset_ = false;  // the model's own, as of the edges noted
    bool settled_ = false;
    bool was_idle_ = false;
    bool reset_seen_ = true;  // rst_ni when the model looked last
};

}  // namespace gyre

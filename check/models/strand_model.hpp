/// What the models of strands and lanes have in common: an inner context, and an account of what was run.
#pragma once

#include <check/engine/model.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <utility>
#include <vector>

// A drain that does not see a link yet comes again, by way of the context: that is no loop which the engine
// would know, so old values are bounded. models/serial_queue.cpp has no such bound.
#define STRAND_MODEL(name, ...) EKIDEN_MODEL(name, .old_values = 2, __VA_ARGS__)

namespace ekiden_model {

using namespace ekiden;

/// A context with room for the one task that a strand ever has in it.
struct one_place : execution_context {
    sys::atomic<task*> place{nullptr};
    sys::atomic<bool> is_closed{false};
    sys::atomic<int> throws{0};         // so many of the next calls
    int reports = 0;                    // only the checker's one real thread runs
    bool lets_in = false;               // dispatch runs on the calling thread
    bool is_inside = false;             // which counts as one of the context's
    sys::atomic<std::uint32_t> gate{0}; // 1: paused

    one_place() noexcept { set_gate(gate, 0, 1); }

    /// A drain without work may be left.
    ~one_place() {
        while (run_one()) {
        }
    }

    virtual void put(task* given) {
        check::that(place.exchange(given, sys::acq_rel) == nullptr, "the drain is queued once");
    }
    /// Returns a task that was put here, or null.
    virtual task* get() { return place.exchange(nullptr, sys::acquire); }

    /// Runs what is there. False: there was nothing.
    bool run_one() {
        task* const found = get();
        if (found == nullptr) return false;
        found->run();
        return true;
    }

    struct executor : task_sink<executor> {
        explicit executor(one_place& in) noexcept : in_(&in) {}
        one_place& context() const noexcept { return *in_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        bool accept(task* given, task_order) const {
            if (in_->is_closed.load(sys::relaxed)) {
                given->abandon();
                return false;
            }
            if (in_->throws.load(sys::relaxed) > 0 && in_->throws.fetch_sub(1, sys::relaxed) > 0) {
                given->abandon();
                throw 1;
            }
            in_->put(given);
            return true;
        }
        task* continue_with(task* given) const {
            if (in_->lets_in) return given;
            (void)accept(given, task_order::usual);
            return nullptr;
        }
        bool running_in_this_thread() const noexcept { return in_->is_inside; }
        void report_unhandled(const char*) const noexcept { ++in_->reports; }
        friend bool operator==(const executor&, const executor&) = default;

    private:
        one_place* in_;
    };
};

/// A context with room for the drains of two shards of lanes.
struct two_places : one_place {
    sys::atomic<task*> other{nullptr};

    ~two_places() {
        while (run_one()) {
        }
    }
    void put(task* given) override {
        task* expected = nullptr;
        if (!place.compare_exchange_strong(expected, given, sys::release, sys::relaxed))
            check::that(other.exchange(given, sys::acq_rel) == nullptr, "each drain is queued once");
    }
    task* get() override {
        task* const first = one_place::get();
        return first != nullptr ? first : other.exchange(nullptr, sys::acquire);
    }
};

/// What the functions of a strand do.
struct account {
    sys::cell<int> exclusive{0};
    sys::atomic<int> gone{0}; // run or abandoned
    std::vector<int> ran;     // only the checker's one real thread runs

    struct ticket {
        account* of;
        explicit ticket(account& a) : of(&a) {}
        ticket(ticket&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
        ~ticket() {
            if (of != nullptr) of->gone.fetch_add(1, sys::release);
        }
    };
    /// A function that notes its number.
    auto note(int number) {
        return [number, place = ticket(*this)] {
            place.of->exclusive.write(place.of->exclusive.read() + 1);
            place.of->ran.push_back(number);
        };
    }
    bool in_order(int earlier, int later) const {
        for (const int number : ran) {
            if (number == later) return false;
            if (number == earlier) return true;
        }
        return false;
    }
    /// Runs what the context gets until so many have gone.
    void run_until(one_place& context, int count) {
        while (gone.load(sys::acquire) < count) {
            if (!context.run_one()) sys::yield();
        }
    }
};

} // namespace ekiden_model

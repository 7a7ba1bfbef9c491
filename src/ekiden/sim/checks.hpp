/// Checks of a program in a simulation, and marks that a program may contain.
///
/// Part: sim. Used by: tests of programs. All functions may be called outside a simulation. There, marks do
/// nothing, and a failing check throws std::logic_error.
#pragma once

#include <ekiden/sim/fault.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

// ---- marks

/// Lets other tasks run at this point of the task. Without points, a task runs as one step. The other tasks
/// run on the caller's stack, so do not hold a lock that they may acquire. Throws if one of them fails.
void point();
/// Adds a line to the timeline.
void note(std::string text);
/// Counts the mark in the report, by name.
void reached(const char* mark);
/// Returns a number from 0 to `range` - 1, which the seed draws. Returns 0 outside a simulation.
[[nodiscard]] std::uint32_t choose(std::uint32_t range);
/// Registers an `action` for the fault `ending`. If that fault is on, the action may be called once, at any
/// time between two steps. Use it to stop or destroy an object at an unexpected moment. The action must stay
/// callable until the test returns.
void at_any_time(const char* name, std::function<void()> action);

// ---- checks. A failing check throws an exception that ends the run. Handlers must let it through.

/// Fails with the text `what` unless `holds` is true.
void expect(bool holds, const char* what);

/// Checks that something happens exactly once, such as a reply.
class exactly_once {
public:
    explicit exactly_once(std::string name);
    /// Fails if done() was not called. If the object is destroyed by an exception that leaves the step or the
    /// test, that exception is the failure instead.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// Records that it has happened. Fails at the second call.
    void done();
    [[nodiscard]] bool is_done() const noexcept { return is_done_; }

private:
    std::size_t number_ = 0;
    bool is_simulated_ = false;
    bool is_done_ = false;
};

/// Checks that the numbers of each key increase.
template <class Key>
class in_order {
public:
    explicit in_order(std::string name) : name_(std::move(name)) {}

    /// Fails if `number` is not larger than the previous number of this key.
    void saw(const Key& key, std::int64_t number);

private:
    std::string name_;
    std::map<Key, std::int64_t> last_;
};

/// A member that detects uses of its object after the destruction, even if the memory is still intact.
class life {
    struct state {
        std::string name;
        bool has_ended = false;
    };

public:
    explicit life(std::string name) : state_(std::make_shared<state>(state{std::move(name)})) {}
    ~life() { state_->has_ended = true; }
    life(const life&) = delete;
    life& operator=(const life&) = delete;

    /// A handler keeps it together with its pointer to the object.
    class watch {
    public:
        /// Fails if the object has been destroyed. Call it before each use of the object.
        void expect_alive() const;

    private:
        friend class life;
        explicit watch(std::shared_ptr<const state> of) noexcept : of_(std::move(of)) {}
        std::shared_ptr<const state> of_;
    };
    /// Returns a watch for a handler to keep.
    [[nodiscard]] watch watched() const noexcept { return watch(state_); }

private:
    const std::shared_ptr<state> state_;
};

namespace detail {
[[noreturn]] void fail_order(const std::string& name, std::int64_t before, std::int64_t number);
} // namespace detail

template <class Key>
void in_order<Key>::saw(const Key& key, std::int64_t number) {
    const auto [at, is_first] = last_.try_emplace(key, number);
    if (!is_first && number <= at->second) detail::fail_order(name_, at->second, number);
    at->second = number;
}

} // namespace ekiden::inline EKIDEN_ABI::sim

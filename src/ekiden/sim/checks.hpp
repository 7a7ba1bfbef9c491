/// Checks of a program in a simulation, and marks that a program may contain.
///
/// Part: sim. Used by: tests of programs. All of it may be called outside a simulation. There, marks do
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

/// Lets other tasks run in the middle of a task, which otherwise runs as one step. They run on top of the
/// caller's stack, so do not hold a lock that they may acquire. Throws if one of them has failed.
void point();
/// Adds a line to the timeline.
void note(std::string text);
/// Counts the mark in the report, by name.
void reached(const char* mark);
/// Returns a number from 0 to `range` - 1, which the seed draws. Returns 0 outside a simulation.
[[nodiscard]] std::uint32_t choose(std::uint32_t range);
/// Registers an `action` that may be called once at any time between two steps, when the fault `ending` is
/// on. Use it to stop or destroy an object at an unexpected moment. It must stay callable until the test
/// returns.
void at_any_time(const char* name, std::function<void()> action);

// ---- checks. A failing check ends the run by an exception, which handlers must let through.

/// Fails with the text `what` unless `holds` is true.
void expect(bool holds, const char* what);

/// Checks that something happens exactly once, such as a reply.
class exactly_once {
public:
    explicit exactly_once(std::string name);
    /// Fails if it has not happened. If an exception destroys the object and leaves the step or the test,
    /// that exception is the failure.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// Records that it has happened. Fails the second time.
    void done();
    [[nodiscard]] bool is_done() const noexcept { return is_done_; }

private:
    std::size_t number_ = 0;
    bool is_simulated_ = false;
    bool is_done_ = false;
};

/// Checks that the numbers of each key grow.
template <class Key>
class in_order {
public:
    explicit in_order(std::string name) : name_(std::move(name)) {}

    /// Fails if `number` is not larger than the previous one of this key.
    void saw(const Key& key, std::int64_t number);

private:
    std::string name_;
    std::map<Key, std::int64_t> last_;
};

/// A member of an object that detects uses after its destruction, even if the memory shows nothing.
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

    /// The part that a handler keeps beside its pointer to the object.
    class watch {
    public:
        /// Fails if the object has been destroyed. Called before the object is used.
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

/// Functions and classes that check a program in a simulation, and marks that a program may contain.
///
/// Part: sim. Used by: tests of programs. A program may also call these functions outside a simulation.
/// Outside a simulation, marks do nothing, and a failing check throws std::logic_error.
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

/// Lets other tasks run at this point of the calling task. A task without such points runs as one step. The
/// other tasks run on the caller's stack. Therefore the caller of point() must not hold a lock that another
/// task may acquire. Throws an exception if another task fails.
void point();
/// Adds a line to the timeline.
void note(std::string text);
/// Marks a place in the program with a name. The report states how many runs have reached the mark.
void reached(const char* mark);
/// Returns a number from 0 to `range` - 1, which the seed chooses. Returns 0 outside a simulation.
[[nodiscard]] std::uint32_t choose(std::uint32_t range);
/// Registers an `action` for the fault `ending`. If the fault `ending` is on, the simulation may call the
/// action once, at any time between two steps. Use such an action to stop or destroy an object at an
/// unexpected moment. The action must stay callable until the test returns.
void at_any_time(const char* name, std::function<void()> action);
/// Registers a process for the fault `crash_restart`. If this fault is on, the simulation may call `crash`
/// between two steps, and then calls `restart` after a virtual time from 1 us to 16 s. This can happen
/// several times. `crash` should destroy everything that a process loses when it is killed, such as its
/// objects and its contexts. `restart` should make these objects again, from what is durable. Both must stay
/// callable until the test returns. Once `crash` has been called, `restart` is called, even after
/// end_faults().
void crash_and_restart(const char* name, std::function<void()> crash, std::function<void()> restart);

// ---- checks. A failing check throws an exception that ends the run. A handler must not catch the exception
// of a failing check.

/// Fails with the text `what` if `holds` is false.
void expect(bool holds, const char* what);

/// Checks that an event, such as a reply, happens exactly once.
class exactly_once {
public:
    explicit exactly_once(std::string name);
    /// Fails if done() was not called. An exception that leaves a step or the test may destroy the object. In
    /// that case, the failure of the run is the exception, and not the missing call of done().
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// Records that the event has happened. Fails at the second call.
    void done();
    [[nodiscard]] bool is_done() const noexcept { return is_done_; }

private:
    std::size_t number_ = 0;
    bool is_simulated_ = false;
    bool is_done_ = false;
};

/// Checks that numbers with the same key increase.
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

/// A data member that detects uses of its object after the object's destruction. The member detects such a
/// use even if the memory of the object has not been overwritten.
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

    /// Tells a handler whether the object still exists. The handler stores the watch together with a pointer
    /// to the object.
    class watch {
    public:
        /// Fails if the object has been destroyed. Call this function before each use of the object.
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

/// What a test says about a program in a simulation, and the marks that a program may carry.
///
/// Part: sim. Used by: tests of programs. All of it may be called outside of a simulation, where marks do
/// nothing and a check that fails throws std::logic_error.
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

/// A place in the middle of a task where others may run: a step runs whole otherwise. These run on top of the
/// caller's stack, so do not call it with a lock held that they may want. Throws if one of them has failed.
void point();
/// A line in the timeline.
void note(std::string text);
/// Counted in the report, by name.
void reached(const char* mark);
/// One of 0 to `range` - 1 that the seed draws; 0 outside of a simulation.
[[nodiscard]] std::uint32_t choose(std::uint32_t range);
/// `action` may be called once at any time between two steps, when the fault `ending` is on: to stop or
/// destroy something in the middle. It must stay callable until the test returns.
void at_any_time(const char* name, std::function<void()> action);

// ---- checks. Each ends the run with a failure, by an exception that handlers let through.

/// `holds`, or a failure of that name.
void expect(bool holds, const char* what);

/// Something that must happen exactly once, such as a reply.
class exactly_once {
public:
    explicit exactly_once(std::string name);
    /// A failure if it has not happened. If an exception destroys the object and leaves the step or the test,
    /// that exception is the failure.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// It has happened. The second time is a failure.
    void done();
    [[nodiscard]] bool is_done() const noexcept { return is_done_; }

private:
    std::size_t number_ = 0;
    bool is_simulated_ = false;
    bool is_done_ = false;
};

/// Numbers that grow, for each key.
template <class Key>
class in_order {
public:
    explicit in_order(std::string name) : name_(std::move(name)) {}

    /// A failure if `number` is not larger than the one before of this key.
    void saw(const Key& key, std::int64_t number);

private:
    std::string name_;
    std::map<Key, std::int64_t> last_;
};

/// A member of an object whose use after its end is a failure, also where the memory would not tell.
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

    /// What a handler keeps beside its pointer to the object.
    class watch {
    public:
        /// Before the object is used.
        void expect_alive() const;

    private:
        friend class life;
        explicit watch(std::shared_ptr<const state> of) noexcept : of_(std::move(of)) {}
        std::shared_ptr<const state> of_;
    };
    /// For a handler to keep.
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

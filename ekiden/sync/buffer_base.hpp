/// What the buffers have in common: their operations on a lock and a ring, and what they answer.
///
/// Part: sync. Used by: programs, through bounded_buffer and watermark_buffer.
#pragma once

#include <ekiden/sync/ring_buffer.hpp>
#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/back_off.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The outcome of a push or pop that may fail.
enum class buffer_result : std::uint8_t {
    done,
    would_wait, ///< try_ forms only: full, or empty
    timed_out,
    stopped, ///< a stop was requested
    closed   ///< push: the buffer is closed; pop: it is closed and everything has been taken out
};

/// Thrown by the forms of push and pop that return nothing else.
class buffer_closed : public std::logic_error {
public:
    buffer_closed() : std::logic_error("the buffer is closed") {}
};

/// A buffer whose lock's states are given by `States`, a class with
///   initial, push_states, pop_states, closed_states    masks or indices; pushes and pops admit closed_states
///   next(state, size, capacity) -> index of the state after a push or a pop
///   closing(state) -> index of the state after close
/// The waiting thread's push or pop is run by the thread that makes room or brings an item.
template <class T, class States>
class buffer_base {
public:
    using value_type = T;

    /// Waits for room and puts `item` in. Throws buffer_closed, and what T's move constructor throws.
    void push(T item) {
        if (push(std::move(item), wait_limit()) == buffer_result::closed) throw buffer_closed();
    }
    /// As push, unless `limit` is reached first. Unless done, `item` is as it was.
    [[nodiscard]] buffer_result push(T&& item, const wait_limit& limit) {
        push_step step{*this, item};
        if (!lock_.run(may_push, step, limit)) return given_up(limit);
        return step.outcome();
    }
    /// As push with a limit, without waiting: would_wait if there is no room.
    [[nodiscard]] buffer_result try_push(T&& item) {
        push_step step{*this, item};
        return tried(may_push, step);
    }
    /// As push with a limit: a time.
    template <class Rep, class Period>
    [[nodiscard]] buffer_result push_for(T&& item, const std::chrono::duration<Rep, Period>& duration) {
        return push(std::move(item), wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] buffer_result push_until(T&& item,
                                           const std::chrono::time_point<Clock, Duration>& deadline) {
        return push(std::move(item), wait_limit::until(deadline));
    }
    /// As push with a limit: a stop request.
    [[nodiscard]] buffer_result push(T&& item, std::stop_token stop) {
        return push(std::move(item), wait_limit(std::move(stop)));
    }

    /// Waits for an item and takes the oldest out. Throws buffer_closed when the buffer is closed and empty,
    /// and what T's move constructor throws.
    [[nodiscard]] T pop() {
        std::optional<T> item = pop_or_end();
        if (!item) throw buffer_closed();
        return std::move(*item);
    }
    /// As pop, but returns nothing when the buffer is closed and empty.
    [[nodiscard]] std::optional<T> pop_or_end() {
        std::optional<T> item;
        pop_step step{*this, item};
        lock_.run(may_pop, step);
        (void)step.outcome();
        return item;
    }
    /// As pop, unless `limit` is reached first. Unless done, `item` becomes empty.
    [[nodiscard]] buffer_result pop(std::optional<T>& item, const wait_limit& limit) {
        item.reset();
        pop_step step{*this, item};
        if (!lock_.run(may_pop, step, limit)) return given_up(limit);
        return step.outcome();
    }
    /// As pop with a limit, without waiting: would_wait if there is none.
    [[nodiscard]] buffer_result try_pop(std::optional<T>& item) {
        item.reset();
        pop_step step{*this, item};
        return tried(may_pop, step);
    }
    /// As pop with a limit: a time.
    template <class Rep, class Period>
    [[nodiscard]] buffer_result pop_for(std::optional<T>& item,
                                        const std::chrono::duration<Rep, Period>& duration) {
        return pop(item, wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] buffer_result pop_until(std::optional<T>& item,
                                          const std::chrono::time_point<Clock, Duration>& deadline) {
        return pop(item, wait_limit::until(deadline));
    }
    /// As pop with a limit: a stop request.
    [[nodiscard]] buffer_result pop(std::optional<T>& item, std::stop_token stop) {
        return pop(item, wait_limit(std::move(stop)));
    }

    /// No item can be put in from now on: waiting pushes end, and pops once the items inside are taken out.
    /// May be called more than once.
    void close() noexcept {
        lock_.apply(state_lock::any_state,
                    [](state_value now) noexcept { return state_value{States::closing(now.state), 0}; });
    }
    /// Whether close() has been called.
    [[nodiscard]] bool closed() const noexcept { return lock_.is_in(States::closed_states); }

    /// How many items there is room for.
    [[nodiscard]] std::size_t capacity() const noexcept { return ring_.capacity(); }
    /// The number of items at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t size = 0;
        lock_.run(state_lock::any_state, [&](state_value now) noexcept {
            size = ring_.size();
            return now;
        });
        return size;
    }

    /// A push or a pop: run once, inside the lock, by the caller or by the thread that made it possible.
    struct step_base {
        buffer_base& buffer;
        std::exception_ptr error{};
        bool ended = false;

        explicit step_base(buffer_base& b) noexcept : buffer(b) {}
        /// What the step came to. Rethrows what T's move constructor threw.
        buffer_result outcome() {
            if (error) std::rethrow_exception(std::move(error));
            return ended ? buffer_result::closed : buffer_result::done;
        }
        state_value after(state_value now) noexcept {
            const ring_buffer<T>& ring = buffer.ring_;
            return {buffer.states_.next(now.state, ring.size(), ring.capacity()), 0};
        }
    };
    struct push_step : step_base {
        T& item;

        push_step(buffer_base& b, T& i) noexcept : step_base(b), item(i) {}
        state_value operator()(state_value now) noexcept {
            this->ended = is_closed(now.state);
            if (this->ended) return now;
            try {
                this->buffer.ring_.push(std::move(item));
            } catch (...) {
                this->error = std::current_exception();
                return now;
            }
            return this->after(now);
        }
    };
    struct pop_step : step_base {
        std::optional<T>& item;

        pop_step(buffer_base& b, std::optional<T>& i) noexcept : step_base(b), item(i) {}
        /// Inside the lock: nothing to take out. (The buffer is closed then.)
        [[nodiscard]] bool finds_nothing() const noexcept { return this->buffer.ring_.size() == 0; }
        state_value operator()(state_value now) noexcept {
            ring_buffer<T>& ring = this->buffer.ring_;
            this->ended = finds_nothing();
            if (this->ended) return now;
            try {
                item.emplace(std::move(ring.front()));
            } catch (...) {
                this->error = std::current_exception();
                return now;
            }
            ring.drop();
            return this->after(now);
        }
    };

    /// The lock inside, for waits that are not a thread's: start() with mask `may_push` and a push_step, or
    /// `may_pop` and a pop_step.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    static constexpr state_lock::mask may_push = States::push_states | States::closed_states;
    static constexpr state_lock::mask may_pop = States::pop_states | States::closed_states;

protected:
    /// Throws std::bad_alloc.
    explicit buffer_base(std::size_t capacity, States states = {})
        : lock_({States::initial, 0}, capacity == 1 ? spinning : yielding), ring_(capacity), states_(states) {
    }
    ~buffer_base() = default;

    static std::size_t checked(std::size_t capacity, const char* what) {
        if (capacity == 0)
            throw std::invalid_argument(std::string(what) + ": capacity is 0, allowed is 1 or more");
        return capacity;
    }

private:
    // A push or pop is so short that a yield mostly is enough to see its end. With room for one item each
    // item needs the other side's answer: if that runs on another processor, it is nearer than a yield takes.
    static constexpr state_rules yielding{.yields = 8, .name = "a buffer"};
    static constexpr state_rules spinning{.spins = 20, .yields = 2, .name = "a buffer"};

    static constexpr bool is_closed(std::uint32_t state) noexcept {
        return ((States::closed_states >> state) & 1) != 0;
    }

    template <class Step>
    buffer_result tried(state_lock::mask states, Step& step) {
        for (sys::back_off others;; others.wait()) { // another thread is inside for a step as short as ours
            const attempt result = lock_.try_run(states, step);
            if (result == attempt::done) return step.outcome();
            if (result == attempt::refused) return buffer_result::would_wait;
        }
    }
    static buffer_result given_up(const wait_limit& limit) noexcept {
        return limit.stop().stop_requested() ? buffer_result::stopped : buffer_result::timed_out;
    }

    mutable state_lock lock_;
    ring_buffer<T> ring_;
    States states_;
};

} // namespace ekiden::inline EKIDEN_ABI

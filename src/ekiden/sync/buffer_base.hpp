/// The common base class of the buffers. The steps of a buffer use a lock and a ring buffer.
///
/// Part: sync. Used by: programs, through bounded_buffer and watermark_buffer.
#pragma once

#include <ekiden/sync/detail/ring_buffer.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/queue_operations.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/back_off.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The states that every kind of buffer has.
struct closable_states {
    static constexpr std::uint32_t empty = 0;
    static constexpr std::uint32_t closed_some = 3;
    static constexpr std::uint32_t closed_empty = 4;

    static constexpr std::uint32_t initial = empty;
    static constexpr state_lock::mask closed_states = 1U << closed_some | 1U << closed_empty;

    static constexpr std::uint32_t closing(std::uint32_t now) noexcept {
        return now == empty || now == closed_empty ? closed_empty : closed_some;
    }
};

} // namespace detail

/// A bounded queue. `States` is a class that defines the states of the lock, and has these members:
///   initial
///       The index of the initial state.
///   push_states, pop_states, closed_states
///       Masks of states. In a state of closed_states, both a push and a pop may begin.
///   next(state, size, capacity)
///       Returns the index of the state after a push or a pop.
///   closing(state)
///       Returns the index of the state after close().
/// If a push has to wait, the thread that makes room runs the push. If a pop has to wait, the thread that
/// adds an item runs the pop.
///
/// A push or a pop throws what the copy or move constructor of T throws. A push or a pop has no effect if it
/// throws.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: a push happens before the pop of the pushed item.
template <class T, class States>
class buffer_base : public queue_operations<buffer_base<T, States>, T> {
public:
    /// Closes the buffer. No item can be added to a closed buffer. Waiting pushes return `closed`. A waiting
    /// pop returns `closed` when no item is left. Has no effect if the buffer is closed already.
    void close() noexcept {
        lock_.apply(state_lock::any_state,
                    [](state_value now) noexcept { return state_value{States::closing(now.state), 0}; });
    }
    /// Returns whether close() has been called. After a call has returned true, all later calls in the same
    /// thread return true.
    [[nodiscard]] bool is_closed() const noexcept { return lock_.is_in(States::closed_states); }

    /// Returns the number of items that the buffer has room for.
    [[nodiscard]] std::size_t capacity() const noexcept { return ring_.capacity(); }
    /// Returns the number of items that the buffer holds at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t size = 0;
        lock_.run(state_lock::any_state, [&](state_value now) noexcept {
            size = ring_.size();
            return now;
        });
        return size;
    }

    /// The common base class of push_step and pop_step. A step runs inside the lock.
    struct step_base : detail::queue_step {
        buffer_base& buffer;

        explicit step_base(buffer_base& b) noexcept : buffer(b) {}
        state_value after(state_value now) noexcept {
            const ring_buffer<T>& ring = buffer.ring_;
            return {buffer.states_.next(now.state, ring.size(), ring.capacity()), 0};
        }
    };
    struct push_step : step_base {
        T& item;

        push_step(buffer_base& b, T& i) noexcept : step_base(b), item(i) {}
        state_value operator()(state_value now) noexcept {
            this->ended = is_in_closed(now.state);
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
        /// Returns whether the buffer is empty. The caller must be inside the lock. A pop waits while the
        /// buffer is empty and not closed. So if the result is true, the buffer is closed.
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

    /// The mask of the states in which a push_step may begin.
    static constexpr state_lock::mask may_push = States::push_states | States::closed_states;
    /// The mask of the states in which a pop_step may begin.
    static constexpr state_lock::mask may_pop = States::pop_states | States::closed_states;

protected:
    /// Constructs an empty buffer. Throws std::bad_alloc.
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
    friend struct detail::lock_access;
    friend class queue_operations<buffer_base, T>;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

    // A push or a pop is short, so it usually ends while a waiting thread yields once. If the buffer has room
    // for only one item, producer and consumer take turns. If the producer and the consumer run on different
    // processors, a turn takes less time than a yield. So a waiting thread spins before it yields.
    static constexpr state_rules yielding{.yields = 8, .name = "a buffer"};
    static constexpr state_rules spinning{.spins = 20, .yields = 2, .name = "a buffer"};

    static constexpr bool is_in_closed(std::uint32_t state) noexcept {
        return ((States::closed_states >> state) & 1) != 0;
    }

    template <class Step>
    queue_status finish(state_lock::mask states, Step& step) {
        lock_.run(states, step);
        return step.outcome();
    }
    template <class Step>
    queue_status finish(state_lock::mask states, Step& step, const wait_limit& limit) {
        return lock_.run(states, step, conduct::completes, limit) ? step.outcome() : detail::given_up(limit);
    }
    template <class Step>
    queue_status finish_now(state_lock::mask states, Step& step) {
        for (sys::back_off others;; others.wait()) { // repeats only while another thread runs a step
            const attempt result = lock_.try_run(states, step);
            if (result == attempt::done) return step.outcome();
            if (result == attempt::refused) return queue_status::would_wait;
        }
    }

    mutable state_lock lock_;
    ring_buffer<T> ring_;
    States states_;
};

} // namespace ekiden::inline EKIDEN_ABI

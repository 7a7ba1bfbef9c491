/// Awaitable push and pop operations of channels and bounded buffers.
///
/// Part: async. Used by: programs and select(). Any number of coroutines and threads may push and pop at the
/// same time. A push or pop that has to wait is completed by the thread that makes room or adds an item. The
/// page locks.md has the rules of all awaited operations, including stops and deadlines.
#pragma once

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/detail/lock_awaiter.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/channel.hpp>
#include <ekiden/sync/watermark_buffer.hpp>

#include <concepts>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

[[nodiscard]] constexpr queue_status not_done(wait_result r) noexcept {
    return r == wait_result::timed_out ? queue_status::timed_out : queue_status::stopped;
}

/// Runs a push_step or a pop_step without waiting, if possible. May fail spuriously for a bounded buffer. At
/// a channel, may pause once before it fails, because a pause costs less than a wait if another thread makes
/// room or adds items meanwhile.
template <class Step>
[[nodiscard]] bool step_now(state_lock& lock, state_lock::mask states, Step& step) noexcept {
    if constexpr (requires { step.try_now(); }) {
        if (step.try_now()) [[likely]]
            return true;
        if (!step.should_pause() || !pause_before_attempt(1)) return false;
        const bool is_done = step.try_now();
        step.record_pause(is_done);
        return is_done;
    } else {
        return detail::run_soon(lock, states, step);
    }
}

template <class Buffer>
class push_operation : public lock_operation {
    using value = typename Buffer::value_type;

public:
    static constexpr bool is_pure = false;

    push_operation(Buffer& b, value& item) noexcept
        : lock_operation{lock_access::core(b), Buffer::may_push}, step_(b, item) {}
    [[nodiscard]] bool try_now() noexcept { return detail::step_now(lock, states, step_); }
    state_value change(state_value now) noexcept { return step_(now); }
    static void give_back() noexcept {} // a pushed item stays in the buffer
    [[nodiscard]] queue_status result(wait_result r) {
        return r == wait_result::done ? step_.outcome() : not_done(r);
    }

private:
    typename Buffer::push_step step_;
};

template <class Buffer>
struct item_copy {
    typename Buffer::value_type copy_;
};

/// Pushes a copy of an item. The awaiter stores the copy.
template <class Buffer>
class push_copy_operation : private item_copy<Buffer>, public push_operation<Buffer> {
    using value = typename Buffer::value_type;

public:
    push_copy_operation(Buffer& b, const value& item) noexcept(std::is_nothrow_copy_constructible_v<value>)
        : item_copy<Buffer>{item}, push_operation<Buffer>(b, this->copy_) {}
    push_copy_operation(const push_copy_operation&) = delete;
    push_copy_operation& operator=(const push_copy_operation&) = delete;
};

template <class Buffer>
class pop_operation : public lock_operation {
    using value = typename Buffer::value_type;

public:
    static constexpr bool is_pure = false;

    explicit pop_operation(Buffer& b) noexcept
        : lock_operation{lock_access::core(b), Buffer::may_pop}, step_(b, item_) {}
    pop_operation(const pop_operation&) = delete;
    pop_operation& operator=(const pop_operation&) = delete;

    [[nodiscard]] bool try_now() noexcept { return detail::step_now(lock, states, step_); }
    state_value change(state_value now) noexcept { return step_(now); }
    static void give_back() noexcept {} // the destructor of this object destroys the item
    [[nodiscard]] popped<value> result(wait_result r) {
        const queue_status status = r == wait_result::done ? step_.outcome() : not_done(r);
        return status == queue_status::done ? popped<value>(std::in_place, std::move(*item_))
                                            : popped<value>(status);
    }

protected:
    std::optional<value> item_;

private:
    typename Buffer::pop_step step_;
};

template <class Buffer, class Unclaimed>
class claimed_pop_operation : public pop_operation<Buffer> {
public:
    claimed_pop_operation(Buffer& b, Unclaimed& f) noexcept : pop_operation<Buffer>(b), unclaimed_(f) {}
    void give_back() noexcept {
        if (this->item_) unclaimed_(std::move(*this->item_));
    }

private:
    Unclaimed& unclaimed_;
};

/// Satisfied by the channels and the bounded buffers.
template <class Buffer>
concept awaited_buffer = requires {
    typename Buffer::value_type;
    typename Buffer::push_step;
    typename Buffer::pop_step;
};
/// Satisfied by an awaited_buffer whose items can be copied.
template <class Buffer>
concept awaited_copies = awaited_buffer<Buffer> && std::copy_constructible<typename Buffer::value_type>;

} // namespace detail

/// `const queue_status s = co_await async_push(buffer, std::move(item))`: waits until the buffer has room,
/// and adds `item`. Returns `done` if the item was added, and `closed` if the buffer is closed. Returns
/// `stopped` or `timed_out` if a stop or the deadline of the coroutine has ended the wait. If the result is
/// not `done`, `item` is unchanged. An added item stays in the buffer even if the coroutine is destroyed.
/// Throws what the move constructor of T throws.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_push(Buffer& buffer, typename Buffer::value_type&& item) noexcept {
    return detail::lock_awaiter<detail::push_operation<Buffer>>(buffer, item);
}
/// Adds a copy of `item` like async_push(buffer, std::move(item)). The function copies `item` at once, before
/// the co_await. Throws what the copy constructor of T throws.
template <detail::awaited_copies Buffer>
[[nodiscard]] auto async_push(Buffer& buffer, const typename Buffer::value_type& item) {
    return detail::lock_awaiter<detail::push_copy_operation<Buffer>>(buffer, item);
}

/// Adds `item` like async_push(buffer, item), but waits until `limit` at most. Returns `timed_out` or
/// `stopped` if the limit is reached.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_push(Buffer& buffer, typename Buffer::value_type&& item,
                              const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::push_operation<Buffer>>(limit, buffer, item);
}
/// Adds a copy of `item` like async_push(buffer, item, limit). The function copies `item` at once, before the
/// co_await.
template <detail::awaited_copies Buffer>
[[nodiscard]] auto async_push(Buffer& buffer, const typename Buffer::value_type& item,
                              const wait_limit& limit) {
    return detail::limited_awaiter<detail::push_copy_operation<Buffer>>(limit, buffer, item);
}
/// Adds `item` like async_push(buffer, item, limit). The limit is the time of the call plus `duration`.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_push_for(Buffer& buffer, typename Buffer::value_type&& item,
                                  const wait_duration& duration) {
    return ekiden::async_push(buffer, std::move(item), duration);
}
template <detail::awaited_copies Buffer>
[[nodiscard]] auto async_push_for(Buffer& buffer, const typename Buffer::value_type& item,
                                  const wait_duration& duration) {
    return ekiden::async_push(buffer, item, duration);
}
/// Adds `item` like async_push(buffer, item, limit). The limit is the time point `time`, which is converted
/// to the steady clock when the wait begins.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_push_until(Buffer& buffer, typename Buffer::value_type&& item,
                                    const wait_deadline& time) {
    return ekiden::async_push(buffer, std::move(item), time);
}
template <detail::awaited_copies Buffer>
[[nodiscard]] auto async_push_until(Buffer& buffer, const typename Buffer::value_type& item,
                                    const wait_deadline& time) {
    return ekiden::async_push(buffer, item, time);
}

/// `popped<T> item = co_await async_pop(buffer)`: waits until the buffer has an item, and removes the oldest
/// item. Returns the removed item, or an empty result. An empty result has the status `closed` if the buffer
/// is closed and empty. The status is `stopped` or `timed_out` if a stop or the deadline of the coroutine has
/// ended the wait. Throws what the move constructor of T throws.
///
/// If the coroutine has received an item, but is destroyed before it resumes, the item is destroyed, too. A
/// coroutine is destroyed, for example, if the context of its executor is destroyed.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_pop(Buffer& buffer) noexcept {
    return detail::lock_awaiter<detail::pop_operation<Buffer>>(buffer);
}
/// Removes the oldest item like async_pop(buffer), but waits until `limit` at most. Returns an empty result
/// with the status `timed_out` or `stopped` if the limit is reached.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_pop(Buffer& buffer, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::pop_operation<Buffer>>(limit, buffer);
}
/// Removes the oldest item like async_pop(buffer, limit). The limit is the time of the call plus `duration`.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_pop_for(Buffer& buffer, const wait_duration& duration) {
    return ekiden::async_pop(buffer, duration);
}
/// Removes the oldest item like async_pop(buffer, limit). The limit is the time point `time`, which is
/// converted to the steady clock when the wait begins.
template <detail::awaited_buffer Buffer>
[[nodiscard]] auto async_pop_until(Buffer& buffer, const wait_deadline& time) {
    return ekiden::async_pop(buffer, time);
}

/// Removes the oldest item like async_pop(buffer). If the coroutine has received the item, but is destroyed
/// before it resumes, `unclaimed` is called with the item. `unclaimed` must be a named object that outlives
/// the await. `unclaimed` must not throw.
template <detail::awaited_buffer Buffer, std::invocable<typename Buffer::value_type&&> Unclaimed>
[[nodiscard]] auto async_pop(Buffer& buffer, Unclaimed& unclaimed) noexcept {
    using operation = detail::claimed_pop_operation<Buffer, Unclaimed>;
    return detail::lock_awaiter<operation>(buffer, unclaimed);
}

} // namespace ekiden::inline EKIDEN_ABI

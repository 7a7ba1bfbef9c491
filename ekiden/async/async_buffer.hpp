/// The channel of coroutines: push and pop of the bounded buffers, awaited.
///
/// Part: async. Used by: users; select. Any number of coroutines and threads at either end. The thread that
/// makes room or brings an item moves the item for the one that waits. What holds of all awaited locks, stops
/// and deadlines among it: locks.md.
#pragma once

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/lock_awaiter.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/watermark_buffer.hpp>

#include <concepts>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

[[nodiscard]] constexpr buffer_result not_done(wait_result r) noexcept {
    return r == wait_result::timed_out ? buffer_result::timed_out : buffer_result::stopped;
}

template <class Buffer>
class push_operation {
    using value = typename Buffer::value_type;

public:
    static constexpr bool is_pure = false;

    push_operation(Buffer& b, value& item) noexcept : step_(b, item) {}
    [[nodiscard]] state_lock& core() const noexcept { return step_.buffer.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept { return Buffer::may_push; }
    [[nodiscard]] bool try_now() noexcept { return run_soon(core(), states(), step_); }
    state_value change(state_value now) noexcept { return step_(now); }
    static void give_back() noexcept {} // the buffer has accepted it
    [[nodiscard]] buffer_result result(wait_result r) {
        return r == wait_result::done ? step_.outcome() : not_done(r);
    }

private:
    typename Buffer::push_step step_;
};

template <class Buffer>
struct item_copy {
    typename Buffer::value_type copy_;
};

/// Of a copy in the awaiter.
template <class Buffer>
class push_copy_operation : private item_copy<Buffer>, public push_operation<Buffer> {
    using value = typename Buffer::value_type;

public:
    push_copy_operation(Buffer& b, const value& item) noexcept(std::is_nothrow_copy_constructible_v<value>)
        : item_copy<Buffer>{item}, push_operation<Buffer>(b, this->copy_) {}
    push_copy_operation(const push_copy_operation&) = delete;
    push_copy_operation& operator=(const push_copy_operation&) = delete;
};

/// Into `item`.
template <class Buffer>
class pop_into_operation {
    using value = typename Buffer::value_type;

public:
    static constexpr bool is_pure = false;

    pop_into_operation(Buffer& b, std::optional<value>& item) noexcept : step_(b, item) {}
    [[nodiscard]] state_lock& core() const noexcept { return step_.buffer.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept { return Buffer::may_pop; }
    void begin() noexcept { step_.item.reset(); }
    [[nodiscard]] bool try_now() noexcept { return run_soon(core(), states(), step_); }
    state_value change(state_value now) noexcept { return step_(now); }
    static void give_back() noexcept {} // the item ends with the frame
    [[nodiscard]] buffer_result result(wait_result r) {
        return r == wait_result::done ? step_.outcome() : not_done(r);
    }

protected:
    typename Buffer::pop_step step_;
};

template <class Buffer>
struct item_room {
    std::optional<typename Buffer::value_type> item_;
};

/// Into the awaiter.
template <class Buffer>
class pop_operation : private item_room<Buffer>, public pop_into_operation<Buffer> {
    using value = typename Buffer::value_type;

public:
    explicit pop_operation(Buffer& b) noexcept : pop_into_operation<Buffer>(b, this->item_) {}
    pop_operation(const pop_operation&) = delete;
    pop_operation& operator=(const pop_operation&) = delete;

    static void begin() noexcept {}
    [[nodiscard]] std::optional<value> result(wait_result r) {
        if (r == wait_result::done) (void)this->step_.outcome();
        return std::move(this->item_);
    }

protected:
    using item_room<Buffer>::item_;
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

} // namespace detail

/// `const buffer_result r = co_await async_push(buffer, std::move(item))`: waits for room. Unless done,
/// `item` is as it was: the buffer is closed, a stop was requested, or the deadline has passed. What has been
/// put in stays in, whatever becomes of the coroutine. Throws what T's move constructor throws.
template <class T, class States>
[[nodiscard]] auto async_push(buffer_base<T, States>& buffer, std::type_identity_t<T>&& item) noexcept {
    return detail::lock_awaiter<detail::push_operation<buffer_base<T, States>>>(buffer, item);
}
/// The same with a copy of `item`, made at the call. Throws what that throws.
template <std::copy_constructible T, class States>
[[nodiscard]] auto async_push(buffer_base<T, States>& buffer, const std::type_identity_t<T>& item) {
    return detail::lock_awaiter<detail::push_copy_operation<buffer_base<T, States>>>(buffer, item);
}

/// `std::optional<T> item = co_await async_pop(buffer)`: waits for an item and takes the oldest out. Empty:
/// the buffer is closed and empty, or a stop was requested. Throws what T's move constructor throws.
///
/// If the coroutine is destroyed after it has got an item and before it could go on (its executor is no
/// more), the item is destroyed with it.
template <class T, class States>
[[nodiscard]] auto async_pop(buffer_base<T, States>& buffer) noexcept {
    return detail::lock_awaiter<detail::pop_operation<buffer_base<T, States>>>(buffer);
}
/// The same, except that such an item is given to `unclaimed(T&&)`, which must not throw. (An object that has
/// a name and outlives the await.)
template <class T, class States, std::invocable<T&&> Unclaimed>
[[nodiscard]] auto async_pop(buffer_base<T, States>& buffer, Unclaimed& unclaimed) noexcept {
    using operation = detail::claimed_pop_operation<buffer_base<T, States>, Unclaimed>;
    return detail::lock_awaiter<operation>(buffer, unclaimed);
}
/// `const buffer_result r = co_await async_pop(buffer, item)`: says why there is none. Unless done, `item`
/// becomes empty.
template <class T, class States>
[[nodiscard]] auto async_pop(buffer_base<T, States>& buffer,
                             std::type_identity_t<std::optional<T>>& item) noexcept {
    return detail::lock_awaiter<detail::pop_into_operation<buffer_base<T, States>>>(buffer, item);
}

} // namespace ekiden::inline EKIDEN_ABI

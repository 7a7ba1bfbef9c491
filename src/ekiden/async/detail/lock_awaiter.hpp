/// The awaiter of every operation on a lock. The awaiter first tries to do the operation at once. If this
/// attempt fails, the coroutine waits. If the coroutine is destroyed before it receives the result, the
/// awaiter undoes the operation.
///
/// Part: async. Used by: async_lock, async_event, async_buffer.
#pragma once

#include <ekiden/async/detail/limited_wait.hpp>
#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The base class of all operations. The class contains a reference to the lock, and the set of states of the
/// lock in which the operation may begin.
struct lock_operation {
    state_lock& lock;
    state_lock::mask states;
};

/// Satisfied by an operation that changes the value of a lock. `change(value)` returns the next value.
template <class Operation>
concept changing_operation = requires(Operation& o, state_value now) {
    { o.change(now) } noexcept -> std::same_as<state_value>;
};

/// Satisfied by an operation that needs to know the awaiting coroutine.
template <class Operation, class Promise>
concept begins_late = requires(Operation& o, std::coroutine_handle<Promise> c) { o.begin(c); };

/// Satisfied by an operation whose result only says whether the operation was done. If the operation was
/// done, the awaiter calls `granted()`, which returns a guard or nothing. `canceled` is the text of the
/// exception that is thrown after a stop request.
template <class Operation>
concept granted_operation = requires(Operation& o) {
    o.granted();
    { Operation::canceled } -> std::convertible_to<const char*>;
};

/// Computes the result of `co_await`. If the operation has no granted(), returns the result of the
/// operation's function `result(wait_result)`. Otherwise, the result depends on whether the operation has a
/// limit. An operation without a limit returns the result of granted(), or throws operation_canceled. An
/// operation with a limit returns a std::optional of the result of granted(), or a bool if granted() returns
/// nothing.
template <bool IsLimited, class Operation>
auto outcome_of(Operation& operation, wait_result how) {
    if constexpr (!granted_operation<Operation>) {
        return operation.result(how);
    } else {
        using grant = decltype(operation.granted());
        if constexpr (!IsLimited) {
            if (how != wait_result::done) throw operation_canceled(Operation::canceled);
            return operation.granted();
        } else if constexpr (std::is_void_v<grant>) {
            return how == wait_result::done;
        } else {
            return how == wait_result::done ? std::optional<grant>(operation.granted()) : std::nullopt;
        }
    }
}

/// Awaits an operation. `Operation` is derived from lock_operation, and has these members:
///
/// * begin() is optional, and is called first.
/// * begin(coroutine) is optional. It is called after begin(), unless a stop has been requested. It may
/// throw.
/// * try_now() does the operation without waiting, if possible. try_now() may fail spuriously.
/// * change(value) is optional. The thread that releases the lock calls it to get the lock's next value.
/// * is_posted is optional. If it is true, the coroutine does not continue in await_suspend(), even if
///   the operation is done at once. Instead, the coroutine is posted.
/// * is_pure is true if change() reads no data except the value of the lock.
/// * give_back() undoes the operation if the coroutine is destroyed before it receives the result.
/// * granted() and canceled, or result(wait_result), determine the result. outcome_of() describes how.
///
/// An operation without change() acquires the lock. `Wait` is lock_wait, or limited_wait for an operation
/// with a limit. The awaiter can be neither copied nor moved. A program may await the awaiter only once, in
/// the expression that creates the awaiter or later.
template <class Operation, class Wait = lock_wait>
class [[nodiscard("an operation begins when it is awaited")]] lock_awaiter final : private Wait {
    using outcome =
        decltype(detail::outcome_of<Wait::is_limited>(std::declval<Operation&>(), wait_result::done));

public:
    using Wait::comes_home;

    template <class... Args>
        requires(!Wait::is_limited)
    explicit lock_awaiter(Args&&... args) noexcept(std::is_nothrow_constructible_v<Operation, Args...>)
        : operation_(std::forward<Args>(args)...) {}
    template <class... Args>
        requires Wait::is_limited
    explicit lock_awaiter(wait_limit limit,
                          Args&&... args) noexcept(std::is_nothrow_constructible_v<Operation, Args...>)
        : Wait(std::move(limit)), operation_(std::forward<Args>(args)...) {}
    ~lock_awaiter() {
        if (this->end() && !EKIDEN_MUTANT(async_lock_dies_with_its_coroutine)) operation_.give_back();
    }

    [[nodiscard]] static constexpr bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] bool
    await_suspend(std::coroutine_handle<Promise> coroutine) noexcept(!Wait::is_limited
                                                                     && !begins_late<Operation, Promise>) {
        if constexpr (requires { operation_.begin(); }) operation_.begin();
        if (!this->begin(coroutine)) [[unlikely]]
            return true;
        if constexpr (begins_late<Operation, Promise>) operation_.begin(coroutine);
        if (!operation_.try_now()) {
            if (this->wait({operation_.lock, operation_.states, transition(), Operation::is_pure}))
                return true;
        }
        if constexpr (requires { requires Operation::is_posted; }) {
            this->go_home();
            return true;
        }
        return this->go_on(coroutine);
    }

    [[nodiscard]] outcome await_resume()
        requires(!std::is_void_v<outcome>)
    {
        return detail::outcome_of<Wait::is_limited>(operation_, this->collect());
    }
    void await_resume()
        requires std::is_void_v<outcome>
    {
        detail::outcome_of<Wait::is_limited>(operation_, this->collect());
    }

private:
    static constexpr state_transition transition() noexcept {
        if constexpr (changing_operation<Operation>)
            return [](void* context, state_value now) noexcept {
                return static_cast<lock_awaiter*>(static_cast<lock_wait*>(context))->operation_.change(now);
            };
        else
            return nullptr;
    }

    Operation operation_;
};

/// An awaiter with a limit. The limit is the first argument of the constructor.
template <class Operation>
using limited_awaiter = lock_awaiter<Operation, limited_wait>;

} // namespace ekiden::inline EKIDEN_ABI::detail

/// The awaiter of every operation on a lock. It tries at once, waits if that fails, and gives back what the
/// coroutine did not receive.
///
/// Part: async. Used by: async_lock.hpp, async_event.hpp, async_buffer.hpp, which document the operations.
#pragma once

#include <ekiden/async/detail/limited_wait.hpp>
#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The base of operations: the lock, and the states in which the operation may begin.
struct lock_operation {
    state_lock& lock;
    state_lock::mask states;
};

/// An operation that changes a lock from within: `change(value)` returns the lock's next value.
template <class Operation>
concept changing_operation = requires(Operation& o, state_value now) {
    { o.change(now) } noexcept -> std::same_as<state_value>;
};

/// An operation that is either done or not: `granted()` is called if it is done, and returns a guard or
/// nothing. `canceled` is the text of the exception at a stop.
template <class Operation>
concept granted_operation = requires(Operation& o) {
    o.granted();
    { Operation::canceled } -> std::convertible_to<const char*>;
};

/// What `co_await` returns. An operation with granted(): without a limit what granted() returns, or throws
/// operation_canceled; with a limit a std::optional of that, or a bool for nothing. Any other operation:
/// result(wait_result).
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

/// `Operation` is derived from lock_operation, and says what is done, with members
///   begin()           optional: called first
///   try_now()         does it without waiting, if possible; may fail spuriously
///   change(value)     the transition, as a releaser runs it; without this member the lock is held afterwards
///   is_pure           whether the transition reads nothing but the value
///   give_back()       undoes it for a coroutine that was destroyed before it received the result
///   granted() and canceled, or result(wait_result): see outcome_of()
/// `Wait` is lock_wait, or limited_wait for an operation with a limit.
/// Neither copied nor moved. Awaited once, in the expression that makes it or later.
template <class Operation, class Wait = lock_wait>
class [[nodiscard("an operation begins when it is awaited")]] lock_awaiter final : private Wait {
    using outcome = decltype(outcome_of<Wait::is_limited>(std::declval<Operation&>(), wait_result::done));

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
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept(!Wait::is_limited) {
        if constexpr (requires { operation_.begin(); }) operation_.begin();
        if (!this->begin(coroutine)) [[unlikely]]
            return true;
        if (!operation_.try_now()) {
            if (this->wait({operation_.lock, operation_.states, transition(), Operation::is_pure}))
                return true;
        }
        return this->go_on(coroutine);
    }

    [[nodiscard]] outcome await_resume()
        requires(!std::is_void_v<outcome>)
    {
        return outcome_of<Wait::is_limited>(operation_, this->collect());
    }
    void await_resume()
        requires std::is_void_v<outcome>
    {
        outcome_of<Wait::is_limited>(operation_, this->collect());
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

/// The same with a limit, which is the first argument of the constructor.
template <class Operation>
using limited_awaiter = lock_awaiter<Operation, limited_wait>;

} // namespace ekiden::inline EKIDEN_ABI::detail

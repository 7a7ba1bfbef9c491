/// The awaiter of every operation on a lock: tries at once, waits if that fails, gives back what nobody got.
///
/// Part: async. Used by: async_lock.hpp, async_event.hpp, async_buffer.hpp, which say what the operations do.
#pragma once

#include <ekiden/async/lock_wait.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// What an operation that changes a lock from within is: `change(value)` gives the lock's next value.
template <class Operation>
concept changing_operation = requires(Operation& o, state_value now) {
    { o.change(now) } noexcept -> std::same_as<state_value>;
};

/// `Operation` says what is done, with members
///   core()            the lock
///   states()          the mask
///   try_now()         does it without waiting, if that can be; may fail without reason
///   change(value)     the transition, as a releaser runs it; without this member the lock is held afterwards
///   is_pure           whether the transition reads nothing but the value
///   give_back()       undoes it for a coroutine that has ended before it could go on
///   result(wait_result)
/// Neither copied nor moved; awaited once, in the expression that makes it or later.
template <class Operation>
class [[nodiscard("an operation begins when it is awaited")]] lock_awaiter final : private lock_wait {
public:
    using lock_wait::comes_home;

    template <class... Args>
    explicit lock_awaiter(Args&&... args) noexcept(std::is_nothrow_constructible_v<Operation, Args...>)
        : operation_(std::forward<Args>(args)...) {}
    ~lock_awaiter() {
        if (end() && !EKIDEN_MUTANT(async_lock_dies_with_its_coroutine)) operation_.give_back();
    }

    [[nodiscard]] static constexpr bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        if constexpr (requires { operation_.begin(); }) operation_.begin();
        if (!begin(coroutine)) [[unlikely]]
            return true;
        if (!operation_.try_now()) {
            if (wait({operation_.core(), operation_.states(), transition(), Operation::is_pure})) return true;
        }
        return go_on(coroutine);
    }

    [[nodiscard]] auto await_resume() { return operation_.result(collect()); }

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

} // namespace ekiden::inline EKIDEN_ABI::detail

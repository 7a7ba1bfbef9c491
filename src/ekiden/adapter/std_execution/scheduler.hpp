/// Turns executors of this library into schedulers of the sender/receiver model (P2300R10, C++26).
///
/// Part: adapter. Used by: programs that use senders. If the standard library has std::execution, this header
/// uses std::execution. Otherwise this header uses stdexec, if the headers of stdexec are found. To use
/// another library with the same names, define these macros before the include:
///   EKIDEN_SENDERS         the namespace of set_value, sender_t and the other names of senders
///   EKIDEN_SENDERS_TOKENS  the namespace of get_stop_token and stop_token_of_t
///
/// <ekiden/ekiden.hpp> does not include this header.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>
#include <version>

#if !defined(EKIDEN_SENDERS)
#if defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#define EKIDEN_SENDERS std::execution
#define EKIDEN_SENDERS_TOKENS std
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define EKIDEN_SENDERS stdexec
#define EKIDEN_SENDERS_TOKENS stdexec
#else
#error "ekiden: adapter/std_execution: neither std::execution nor stdexec is there; see EKIDEN_SENDERS"
#endif
#endif

namespace ekiden::inline EKIDEN_ABI {

namespace senders = EKIDEN_SENDERS;
namespace senders_tokens = EKIDEN_SENDERS_TOKENS;

namespace detail {

/// Whether a stop token of this type can ever report a stop request. If not, the token's `stop_possible()` is
/// a constant expression with the value false.
template <class Token>
inline constexpr bool can_ever_stop = true;
template <class Token>
    requires(std::bool_constant<!Token::stop_possible()>::value)
inline constexpr bool can_ever_stop<Token> = false;

template <class Env>
inline constexpr bool env_can_stop = can_ever_stop<senders_tokens::stop_token_of_t<Env>>;

template <class... More>
using signatures_and =
    senders::completion_signatures<senders::set_value_t(), senders::set_error_t(std::exception_ptr), More...>;
template <class Env>
using schedule_signatures =
    std::conditional_t<env_can_stop<Env>, signatures_and<senders::set_stopped_t()>, signatures_and<>>;

} // namespace detail

/// A scheduler for any executor, such as the executor of a pool, a loop, a strand or a lane. Like an
/// executor, a scheduler is a small handle. Two schedulers are equal if their executors are equal.
///
/// schedule() returns a sender that completes with set_value() on the executor, like a posted task. The
/// operation state is also the task, so starting the operation allocates no memory.
///
/// The sender can complete with set_stopped() only if the receiver's stop token can report a stop request.
/// Such a sender calls set_stopped() instead of set_value() in three cases: a stop has been requested, the
/// context drops the task, or the context refuses the task. A context refuses tasks if it has been stopped or
/// has no memory. If the token can never report a stop request, an operation that is dropped or refused
/// completes with set_error(std::system_error(operation_canceled)). The thread that drops the task calls
/// set_stopped() or set_error(), possibly inside start(). A stop request does not remove an operation from
/// the queue. The operation completes when the executor reaches the operation in the queue.
template <executor Executor>
class executor_scheduler {
    template <class Receiver>
    class operation;
    class schedule_sender;

public:
    using scheduler_concept = senders::scheduler_t;

    explicit executor_scheduler(const Executor& where) noexcept : executor_(where) {}

    [[nodiscard]] const Executor& get_executor() const noexcept { return executor_; }
    [[nodiscard]] schedule_sender schedule() const noexcept { return schedule_sender(*this); }
    friend bool operator==(const executor_scheduler& a, const executor_scheduler& b) noexcept {
        return a.executor_ == b.executor_;
    }

private:
    Executor executor_;
};

template <executor Executor>
class executor_scheduler<Executor>::schedule_sender {
public:
    using sender_concept = senders::sender_t;

    /// Contains the scheduler on which set_value() is called. Other threads may call set_stopped() and
    /// set_error().
    struct attributes {
        [[nodiscard]] executor_scheduler
        query(senders::get_completion_scheduler_t<senders::set_value_t>) const noexcept {
            return scheduler;
        }
        executor_scheduler scheduler;
    };
    [[nodiscard]] attributes get_env() const noexcept { return {scheduler_}; }

    /// The member function that P2300R10 requires. The static member function below is the form of P3557R3
    /// (C++26).
    template <class Env>
    [[nodiscard]] detail::schedule_signatures<Env> get_completion_signatures(const Env&) const noexcept {
        return {};
    }
    template <class, class Env>
    [[nodiscard]] static consteval auto get_completion_signatures() noexcept
        -> detail::schedule_signatures<Env> {
        return {};
    }

    template <class Receiver>
    [[nodiscard]] operation<std::remove_cvref_t<Receiver>> connect(Receiver&& receiver) const
        noexcept(std::is_nothrow_constructible_v<std::remove_cvref_t<Receiver>, Receiver>) {
        return operation<std::remove_cvref_t<Receiver>>(scheduler_.get_executor(),
                                                        std::forward<Receiver>(receiver));
    }

private:
    friend class executor_scheduler;
    explicit schedule_sender(const executor_scheduler& of) noexcept : scheduler_(of) {}

    executor_scheduler scheduler_;
};

/// The operation state. The caller of connect() provides the memory for the state. The state must not move
/// between start() and the completion of the operation. The completion function may destroy the state.
template <executor Executor>
template <class Receiver>
class executor_scheduler<Executor>::operation final : public task {
    static constexpr bool can_stop = detail::env_can_stop<senders::env_of_t<Receiver>>;

public:
    using operation_state_concept = senders::operation_state_t;

    template <class R>
    operation(const Executor& where, R&& receiver) noexcept(std::is_nothrow_constructible_v<Receiver, R>)
        : task(&answer), executor_(where), receiver_(std::forward<R>(receiver)) {}
    operation(operation&&) = delete;

    void start() & noexcept {
        const Executor where = executor_; // This is a copy, because accept_task() may destroy *this.
        try {
            (void)accept_task(where, this, task_order::usual);
        } catch (...) { // The task has been abandoned, so the operation has completed.
        }
    }

private:
    static const char* answer(task* self, task_request request) {
        if (request == task_request::describe) return type_description<operation>();
        Receiver& receiver = static_cast<operation*>(self)->receiver_;
        if constexpr (can_stop) {
            if (request != task_request::run
                || senders_tokens::get_stop_token(senders::get_env(receiver)).stop_requested()) {
                senders::set_stopped(std::move(receiver));
                return nullptr;
            }
        } else if (request != task_request::run) {
            senders::set_error(std::move(receiver), std::make_exception_ptr(std::system_error(
                                                        std::make_error_code(std::errc::operation_canceled),
                                                        "ekiden: the context has dropped the task")));
            return nullptr;
        }
        senders::set_value(std::move(receiver));
        return nullptr;
    }

    Executor executor_;
    Receiver receiver_;
};

/// Returns a scheduler for an executor, or for the executor of a context.
template <executor Executor>
[[nodiscard]] executor_scheduler<Executor> as_scheduler(const Executor& where) noexcept {
    return executor_scheduler<Executor>(where);
}
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto as_scheduler(Context& context) noexcept {
    return as_scheduler(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI

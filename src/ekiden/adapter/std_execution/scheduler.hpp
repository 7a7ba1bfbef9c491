/// Makes executors of this library schedulers of the sender/receiver model (P2300R10, C++26).
///
/// Part: adapter. Used by: programs that have senders. Uses std::execution if the standard library has it, or
/// else stdexec if its headers are found. To use another library that has the same names, define these macros
/// before the include:
///   EKIDEN_SENDERS         the namespace of set_value, sender_t, completion_signatures, ...
///   EKIDEN_SENDERS_TOKENS  the namespace of get_stop_token and stop_token_of_t
/// Not part of <ekiden/ekiden.hpp>.
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

/// Whether a token can ever report a stop request. A token type that never can has a constant for it.
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

/// A scheduler for an executor: of a pool, a loop, a strand, a lane, or any other. It is a handle like the
/// executor. Schedulers are equal if their executors are.
///
/// schedule() returns a sender that completes with set_value() on the executor, like a posted task. Its
/// operation is its own task, so nothing is allocated.
///
/// The sender can complete with set_stopped() only if the receiver's token can stop. It does so in place of
/// set_value() in three cases: a stop has been requested, the context drops the task, or the context refuses
/// it. A context refuses a task if it has been stopped or has no memory. If the token cannot stop, a dropped
/// operation completes with set_error(std::system_error(operation_canceled)). Both are called where the task
/// is dropped, possibly in start(). After a stop request, a queued operation stays in the queue until its
/// turn.
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

    /// Names the scheduler on which set_value() is called. Other completions may be called elsewhere.
    struct attributes {
        [[nodiscard]] executor_scheduler
        query(senders::get_completion_scheduler_t<senders::set_value_t>) const noexcept {
            return scheduler;
        }
        executor_scheduler scheduler;
    };
    [[nodiscard]] attributes get_env() const noexcept { return {scheduler_}; }

    /// The form of P2300R10. The form of P3557R3 (C++26) follows.
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

/// The operation state. The receiver's side provides its memory. It must not move from start() until its
/// completion, which may destroy it.
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
        const Executor where = executor_; // this may be destroyed when accept() has the task
        try {
            (void)accept_task(where, this, task_order::usual);
        } catch (...) { // then it has been abandoned and has completed
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

/// Returns the scheduler of an executor, or of a context's executor.
template <executor Executor>
[[nodiscard]] executor_scheduler<Executor> as_scheduler(const Executor& where) noexcept {
    return executor_scheduler<Executor>(where);
}
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto as_scheduler(Context& context) noexcept {
    return as_scheduler(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI

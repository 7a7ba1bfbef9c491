/// Turns executors of this library into schedulers of the sender/receiver model (P2300R10, C++26).
///
/// Part: adapter. Used by: programs that use senders. The header names.hpp chooses the implementation of
/// senders. <ekiden/ekiden.hpp> does not include this header.
#pragma once

#include <ekiden/adapter/std_execution/affine.hpp>
#include <ekiden/adapter/std_execution/domain.hpp>
#include <ekiden/adapter/std_execution/names.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The base class of the operations of a scheduler.
template <class Executor>
class operation_base : public task {
public:
    operation_base(task::function answer, const Executor&) noexcept : task(answer) {}

    /// Returns whether the context has abandoned or refused the task, and runs it later.
    [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
    void set_kept() noexcept { is_kept_ = true; }

private:
    bool is_kept_ = false;
};
template <class Executor>
    requires requires { sink_access::base_of_operations<Executor>(); }
class operation_base<Executor>
    : public std::remove_pointer_t<decltype(sink_access::base_of_operations<Executor>())> {
    using base = std::remove_pointer_t<decltype(sink_access::base_of_operations<Executor>())>;

public:
    operation_base(task::function answer, const Executor& on) noexcept : base(answer, on) {}
};

template <class Executor, class Env>
using schedule_signatures = std::conditional_t<
    keeping_executor<Executor>,
    std::conditional_t<env_can_stop<Env>,
                       senders::completion_signatures<senders::set_value_t(), senders::set_stopped_t()>,
                       senders::completion_signatures<senders::set_value_t()>>,
    std::conditional_t<
        env_can_stop<Env>,
        senders::completion_signatures<senders::set_value_t(), senders::set_error_t(std::exception_ptr),
                                       senders::set_stopped_t()>,
        senders::completion_signatures<senders::set_value_t(), senders::set_error_t(std::exception_ptr)>>>;

} // namespace detail

/// A scheduler for any executor, such as the executor of a pool, a loop, a strand or a lane. Like an
/// executor, a scheduler is a small handle. Two schedulers are equal if their executors are equal.
///
/// schedule() returns a sender that completes with set_value() on the executor, like a posted task. The
/// operation state is also the task, so starting the operation allocates no memory.
///
/// The schedulers of pools and loops, and of strands on pools and loops, are infallible (P3941). The
/// scheduler of a lane is made from a handle of the lane. It is infallible if the lanes have no capacity and
/// run on one of these executors. close() of the lane abandons functions, but no operations. Their operations
/// complete with set_value() on the executor. If the receiver's stop token can report a stop request, and a
/// stop has been requested when the executor reaches the operation, the operation completes with
/// set_stopped() on the executor. So std::execution::task_scheduler accepts these schedulers. stop() of a
/// pool abandons tasks, but no operations. join() runs the operations that stop() has left, and the
/// operations that are started before join() returns. These operations run one at a time, in the thread that
/// calls join(). They must not wait for other operations of the same pool. If an operation is started after
/// join(), the program ends with a message. After stop() of a loop, operations complete after restart(). If
/// a loop is destroyed while an operation is queued, the program ends with a message.
///
/// Every other executor may drop an operation or refuse it. Then the operation completes with set_stopped()
/// if the receiver's stop token can report a stop request. Otherwise the operation completes with
/// set_error(operation_canceled). The thread that drops the operation makes this call,
/// possibly inside start().
///
/// A stop request does not remove an operation from the queue. The operation completes when the executor
/// reaches the operation.
template <executor Executor>
class executor_scheduler {
    template <class Receiver>
    class operation;
    class schedule_sender;

public:
    using scheduler_concept = senders::scheduler_tag;
    /// Whether every operation that is started completes with set_value() or set_stopped() on the executor.
    static constexpr bool is_infallible = detail::keeping_executor<Executor>;

    explicit executor_scheduler(const Executor& where) noexcept : executor_(where) {}

    [[nodiscard]] const Executor& get_executor() const noexcept { return executor_; }
    [[nodiscard]] schedule_sender schedule() const noexcept { return schedule_sender(*this); }

    /// Returns `parallel` for an infallible scheduler. For other schedulers, the executor is not known, and
    /// the result is `weakly_parallel`.
    [[nodiscard]] static constexpr senders::forward_progress_guarantee
    query(senders::get_forward_progress_guarantee_t) noexcept {
        return detail::keeping_executor<Executor> ? senders::forward_progress_guarantee::parallel
                                                  : senders::forward_progress_guarantee::weakly_parallel;
    }
    [[nodiscard]] static constexpr executor_domain
    query(senders::get_completion_domain_t<senders::set_value_t>) noexcept {
        return {};
    }

    friend bool operator==(const executor_scheduler& a, const executor_scheduler& b) noexcept {
        return a.executor_ == b.executor_;
    }

private:
    Executor executor_;
};

template <executor Executor>
class executor_scheduler<Executor>::schedule_sender {
public:
    using sender_concept = senders::sender_tag;

    /// Contains the scheduler on which set_value() is called. If the scheduler is infallible, set_stopped()
    /// is also called on it. Otherwise other threads may call set_stopped() and set_error().
    struct attributes {
        [[nodiscard]] executor_scheduler
        query(senders::get_completion_scheduler_t<senders::set_value_t>) const noexcept {
            return scheduler;
        }
        [[nodiscard]] executor_scheduler
        query(senders::get_completion_scheduler_t<senders::set_stopped_t>) const noexcept
            requires detail::keeping_executor<Executor>
        {
            return scheduler;
        }
        [[nodiscard]] static constexpr executor_domain
        query(senders::get_completion_domain_t<senders::set_value_t>) noexcept {
            return {};
        }
        executor_scheduler scheduler;
    };
    [[nodiscard]] attributes get_env() const noexcept { return {scheduler_}; }

    /// The member function that P2300R10 requires. The static member function below is the form of P3557R3
    /// (C++26).
    template <class Env>
    [[nodiscard]] detail::schedule_signatures<Executor, Env>
    get_completion_signatures(const Env&) const noexcept {
        return {};
    }
    template <class, class Env>
    [[nodiscard]] static consteval auto get_completion_signatures() noexcept
        -> detail::schedule_signatures<Executor, Env> {
        return {};
    }

#if EKIDEN_SENDERS_AFFINE
    /// Returns a sender that completes on the scheduler on which it is started (P4151). If this is the
    /// scheduler of schedule(), the sender completes like schedule(), without a second step.
    [[nodiscard]] auto affine() const noexcept {
        return detail::affine_sender<executor_scheduler>(scheduler_);
    }
#endif

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
class executor_scheduler<Executor>::operation final : public detail::operation_base<Executor> {
    /// Whether every operation that is started completes with set_value() or set_stopped() on the executor.
    static constexpr bool is_infallible = detail::keeping_executor<Executor>;
    static constexpr bool can_stop = detail::env_can_stop<senders::env_of_t<Receiver>>;

public:
    using operation_state_concept = senders::operation_state_tag;

    template <class R>
    operation(const Executor& on, R&& receiver) noexcept(std::is_nothrow_constructible_v<Receiver, R>)
        : detail::operation_base<Executor>(&answer, on), executor_(on), receiver_(std::forward<R>(receiver)) {
    }
    operation(operation&&) = delete;

    void start() & noexcept {
        const Executor on = executor_; // This is a copy, because accept_task() may destroy *this.
        try {
            if constexpr (requires { detail::sink_access::accept_operation(on, this); })
                (void)detail::sink_access::accept_operation(on, this);
            else
                (void)ekiden::accept_task(on, this, task_order::usual);
        } catch (...) { // The task has been abandoned, so the operation has completed.
        }
    }

private:
    static const char* answer(task* self, task_request request) {
        if (request == task_request::describe) return type_description<operation>();
        auto& own = *static_cast<operation*>(self);
        if (request == task_request::run) {
            if constexpr (is_infallible) {
                if (own.is_kept()) {
                    detail::sink_access::run_kept(Executor(own.executor_), [&own] { own.complete(); });
                    return nullptr;
                }
            }
            own.complete();
        } else if constexpr (is_infallible) {
            own.set_kept();
            detail::sink_access::keep(Executor(own.executor_), self);
        } else if constexpr (can_stop) {
            senders::set_stopped(std::move(own.receiver_));
        } else {
            senders::set_error(std::move(own.receiver_),
                               detail::canceled_error("the context has dropped the task"));
        }
        return nullptr;
    }

    void complete() noexcept {
        if constexpr (can_stop) {
            if (senders_tokens::get_stop_token(senders::get_env(receiver_)).stop_requested())
                return senders::set_stopped(std::move(receiver_));
        }
        senders::set_value(std::move(receiver_));
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
    return ekiden::as_scheduler(context.get_executor());
}
/// Returns an infallible scheduler for the lane of a handle (see lanes::lane()). Throws std::invalid_argument
/// if the lanes have a capacity.
template <class Handle>
    requires requires(const Handle& handle) { handle.get_executor().lane(); }
[[nodiscard]] auto as_scheduler(const Handle& handle) {
    return ekiden::as_scheduler(handle.get_executor());
}

inline thread_pool*
executor_domain::pool_of(const executor_scheduler<thread_pool::executor_type>& where) noexcept {
    return &where.get_executor().context();
}

} // namespace ekiden::inline EKIDEN_ABI

// The domain needs sync_wait(). The include is at the end, because sync_wait() needs the class above.
#include <ekiden/adapter/std_execution/sync_wait_sender.hpp> // IWYU pragma: export

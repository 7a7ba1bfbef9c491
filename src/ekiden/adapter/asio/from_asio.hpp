/// Turns an executor of Asio into an executor of this library.
///
/// Part: adapter. Used by: adapter/asio/standalone.hpp, adapter/asio/boost.hpp.
#pragma once

#include <ekiden/adapter/asio/asio_context.hpp>
#include <ekiden/adapter/asio/recycling_allocator.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>

#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An executor of this library that contains a copy of an `AsioExecutor`. The `AsioExecutor` can be an
/// any_io_executor, or the executor of an io_context, a thread_pool or a strand. The adapted executor can be
/// used for post(), strands, lanes, timers and coroutines. Two adapted executors are equal if Asio's
/// executors are equal. The adapted executor is as thread-safe as Asio's executor.
///
/// Asio's context stores the ekiden context of this executor. Both contexts are destroyed together. One
/// thread of ekiden serves the timers of the ekiden context. The first wait for a timer starts this thread.
///
/// Asio runs an accepted task, or drops the task when Asio's context is destroyed. A dropped task is
/// abandoned. A task that is posted while Asio's context destroys its services is abandoned at once. If a
/// task throws an exception, io_context::run() throws the same exception. In the child process of a fork(),
/// create a new Asio context. In the child process, the executor of an old context works only if the old
/// context works, and has no timers.
template <class Asio, class AsioExecutor>
class from_asio_executor : public task_sink<from_asio_executor<Asio, AsioExecutor>> {
public:
    using inner_executor_type = AsioExecutor;

    /// The first call for a context may throw std::bad_alloc.
    explicit from_asio_executor(const AsioExecutor& inner)
        : inner_(inner), context_(&Asio::template use_service<side>(Asio::context_of(inner))) {
        context_->know(Asio::prefer(inner_, Asio::outstanding_work_t::untracked),
                       [](const auto& where, task* given) { give(where, given, task_order::usual); });
    }

    [[nodiscard]] const AsioExecutor& get_inner_executor() const noexcept { return inner_; }
    [[nodiscard]] execution_context& context() const noexcept { return *context_; }
    friend bool operator==(const from_asio_executor& a, const from_asio_executor& b) noexcept {
        return a.inner_ == b.inner_;
    }

    /// Counts outstanding work, as the property outstanding_work.tracked of Asio's executor does. Some Asio
    /// executors, such as any_io_executor, have no work count of their own. For an executor without a work
    /// count, the call that raises the count from 0 allocates memory. If that allocation fails, the program
    /// terminates.
    void on_work_started() const noexcept { count_work(inner_, true); }
    void on_work_finished() const noexcept { count_work(inner_, false); }

    /// Returns whether the calling thread belongs to Asio's context. Always returns false for any_io_executor
    /// and system_executor, because these executors do not know the answer.
    [[nodiscard]] bool running_in_this_thread() const noexcept {
        if constexpr (requires { inner_.running_in_this_thread(); })
            return inner_.running_in_this_thread();
        else
            return false;
    }

    /// Posts a task that rethrows the current exception, so that Asio receives the exception.
    void report_unhandled(const char*) const noexcept {
        this->post([error = std::current_exception()] { std::rethrow_exception(error); });
    }

private:
    friend struct detail::sink_access;

    using side = detail::ekiden_side<Asio>;

    bool accept(task* given, task_order order) const {
        if (context_->is_cleared()) {
            given->abandon();
            return false;
        }
        give(inner_, given, order);
        return true;
    }
    /// Returns `given` if the caller must run this task at once. Returns null if the task has been accepted,
    /// run or abandoned.
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        owned_task owned(given);
        if (context_->is_cleared()) return nullptr;
        const auto possibly = Asio::prefer(inner_, Asio::blocking_t::possibly);
        Asio::execute(Asio::prefer(possibly, Asio::allocator(recycling_allocator<void>())), std::move(owned));
        return nullptr;
    }

    template <class E>
    static void give(const E& where, task* given, task_order order) {
        owned_task owned(given);
        const auto never = Asio::require(where, Asio::blocking_t::never);
        const auto kept = Asio::prefer(never, Asio::allocator(recycling_allocator<void>()));
        if (order == task_order::deferred)
            Asio::execute(Asio::prefer(kept, Asio::relationship_t::continuation), std::move(owned));
        else
            Asio::execute(kept, std::move(owned));
    }

    template <class E>
    void count_work(const E& e, bool has_started) const noexcept {
        if constexpr (requires { e.get_inner_executor(); }) { // a strand
            count_work(e.get_inner_executor(), has_started);
        } else if constexpr (!Asio::shutdown_waits_for_work && requires { e.on_work_started(); }) {
            if (has_started)
                e.on_work_started();
            else
                e.on_work_finished();
        } else if (has_started) {
            context_->work_started([&e] { return Asio::prefer(e, Asio::outstanding_work_t::tracked); });
        } else {
            context_->work_finished();
        }
    }

    AsioExecutor inner_;
    side* context_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// An executor of Asio's as one of this library.
///
/// Part: adapter. Used by: adapter/asio/standalone.hpp and adapter/asio/boost.hpp, which name it.
#pragma once

#include <ekiden/adapter/asio/asio_context.hpp>
#include <ekiden/adapter/asio/recycling_allocator.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>

#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A copy of `AsioExecutor` (of an io_context, thread_pool or strand, an any_io_executor, ...) as an executor
/// of this library: post() and the like, strands, lanes, timers and coroutines run on it. Equal if Asio's
/// executors are. Thread-safe as that is. Its context lies in Asio's context and ends with it; timers there
/// are rung by one thread of this library, which the first wait starts.
///
/// A task that is accepted is run by Asio, or abandoned when Asio drops it at its context's end; one that
/// comes when that context destroys its services is abandoned at once. What a task throws goes through Asio:
/// it leaves io_context::run(). In the child of a fork() it is of use as far as Asio's context is, and has no
/// timers: make a new one there.
template <class Asio, class AsioExecutor>
class from_asio_executor : public task_sink<from_asio_executor<Asio, AsioExecutor>> {
public:
    using inner_executor_type = AsioExecutor;

    /// Throws std::bad_alloc by the first call for a context.
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

    /// As outstanding_work.tracked of Asio's executor. Without a count of its own, as in any_io_executor, the
    /// first of several takes memory; the program ends if there is none.
    void on_work_started() const noexcept { count_work(inner_, true); }
    void on_work_finished() const noexcept { count_work(inner_, false); }

    /// As far as Asio's executor can tell: any_io_executor and system_executor cannot, and say false.
    [[nodiscard]] bool running_in_this_thread() const noexcept {
        if constexpr (requires { inner_.running_in_this_thread(); })
            return inner_.running_in_this_thread();
        else
            return false;
    }

    // ---- for task_sink

    bool accept(task* given, task_order order) const {
        if (context_->is_cleared()) {
            given->abandon();
            return false;
        }
        give(inner_, given, order);
        return true;
    }
    /// `given`, if the caller runs it at once; null if Asio has it or has run it.
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        owned_task owned(given);
        if (context_->is_cleared()) return nullptr;
        const auto possibly = Asio::prefer(inner_, Asio::blocking_t::possibly);
        Asio::execute(Asio::prefer(possibly, Asio::allocator(recycling_allocator<void>())), std::move(owned));
        return nullptr;
    }
    /// As a task of its own, from which Asio takes it.
    void report_unhandled(const char*) const noexcept {
        this->post([error = std::current_exception()] { std::rethrow_exception(error); });
    }

private:
    using side = detail::ekiden_side<Asio>;

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
        } else if constexpr (requires { e.on_work_started(); }) {
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

/// A wait with its handler. The wait is a node in the timer's lists, and a task that the executor runs.
///
/// Part: timer. Used by: basic_waitable_timer.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Replaces the timer's executor in a timer_operation whose handler runs on the timer's executor. Has no
/// effect.
struct no_other_executor {
    template <class Executor>
    explicit no_other_executor(const Executor&) noexcept {}
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
};

/// A wait that calls `handler(error)` on `Executor`. If the timer has a different executor, `Other` is the
/// type of the timer's executor. The operation counts as work of both contexts. So the timer's context does
/// not end before the timer fires.
template <class Handler, class Executor, class Other>
class timer_operation final : public timer_wait {
    using allocator = associated_allocator_t<Handler>;
    using memory = typename std::allocator_traits<allocator>::template rebind_traits<timer_operation>;
    using own_allocator = typename memory::allocator_type;

public:
    template <class H, class TimerExecutor>
    timer_operation(H&& handler, const Executor& where, const TimerExecutor& timer)
        : timer_wait(&answer, &post), executor_(where), other_(timer), handler_(std::forward<H>(handler)) {
        executor_.on_work_started();
        other_.on_work_started();
    }
    timer_operation(const timer_operation&) = delete;
    timer_operation& operator=(const timer_operation&) = delete;
    /// Ends the work of both executors. Then destroys the handler. The handler may own the context, and the
    /// destructor of the context waits until the context has no work.
    ~timer_operation() {
        other_.on_work_finished();
        executor_.on_work_finished();
    }

    /// Creates an operation with the handler's allocator. Throws whatever the allocation or the copy of the
    /// handler throws.
    template <class H, class TimerExecutor>
    [[nodiscard]] static timer_operation* make(H&& handler, const Executor& where,
                                               const TimerExecutor& timer) {
        if constexpr (is_std_allocator<allocator>) {
            return recycler::create<timer_operation>(std::forward<H>(handler), where, timer);
        } else {
            own_allocator from(ekiden::get_associated_allocator(handler));
            const auto place = memory::allocate(from, 1);
            try {
                return ::new (static_cast<void*>(std::to_address(place)))
                    timer_operation(std::forward<H>(handler), where, timer);
            } catch (...) {
                memory::deallocate(from, place, 1);
                throw;
            }
        }
    }

    /// Destroys an operation that no timer owns.
    void end() noexcept { end(own_allocator(ekiden::get_associated_allocator(handler_))); }

private:
    /// Destroys the operation, and gives the memory back to `to`.
    void end([[maybe_unused]] own_allocator to) noexcept {
        if constexpr (is_std_allocator<allocator>) {
            recycler::destroy(this);
        } else {
            const auto place = std::pointer_traits<typename memory::pointer>::pointer_to(*this);
            this->~timer_operation();
            memory::deallocate(to, place, 1);
        }
    }

    struct ending {
        timer_operation* ended;
        own_allocator to; // is copied before the handler is moved, because the moved handler may have none
        ~ending() {
            if (ended != nullptr) ended->end(to);
        }
    };

    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<Handler>();
        auto* const self = static_cast<timer_operation*>(base);
        if (request == task_request::abandon) {
            if (!task_offer::take_back(*self)) self->end_unrun();
            return nullptr;
        }
        const run_scope scope(*self);
        ending here{self, own_allocator(ekiden::get_associated_allocator(self->handler_))};
        Handler handler(std::move(self->handler_));
        // Frees the memory before the call, so that the handler can reuse the memory.
        std::exchange(here.ended, nullptr)->end(here.to);
        handler(scope.is_canceled() ? std::make_error_code(std::errc::operation_canceled)
                                    : std::error_code());
        return nullptr;
    }

    /// Passes the wait to the handler's executor. If the executor throws, the exception is reported, because
    /// no caller could catch the exception. The operation counts as work, so the context exists during the
    /// call.
    static void post(timer_wait& base) noexcept {
        auto& self = static_cast<timer_operation&>(base);
        // Copies the executor, because the operation may be destroyed before accept_task() returns.
        const Executor where(self.executor_);
        const task_offer offer(self);
        try {
            ekiden::accept_task(where, &self, task_order::immediate);
        } catch (...) { // an executor that throws may have accepted the task nevertheless
            if (offer.came_back()) ekiden::report_unhandled(where, type_description<Handler>());
        }
        if (offer.came_back()) self.end_unrun();
    }

    void end_unrun() noexcept {
        drop();
        end();
    }

    // executor_ follows the base class directly, so that cancel() accesses few cache lines.
    Executor executor_;
    [[no_unique_address]] Other other_;
    Handler handler_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// The task of post_bulk(). The task makes one call at a time, and queues itself again before each call.
///
/// Part: execution. Used by: task_sink. Private.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/sink_access.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Calls f(i), or f() if `f` accepts no number.
template <class F>
void call_with(F& f, std::size_t i) {
    if constexpr (std::invocable<F&, std::size_t>)
        static_cast<void>(std::invoke(f, i));
    else
        static_cast<void>(std::invoke(f));
}

/// Calls f(i) on this thread for each i in [first, last), until the context accepts no more tasks. Reports
/// each exception of a call.
template <class Sink, class F>
void call_all(const Sink& sink, F& f, std::size_t first, std::size_t last) noexcept {
    const execution_context& context = sink.context();
    for (; first != last && !context.refuses_tasks(); ++first) {
        try {
            detail::call_with(f, first);
        } catch (...) {
            sink.report_unhandled(type_description<F>());
        }
    }
}

/// Returns whether the sink runs its functions one at a time.
template <class Sink>
[[nodiscard]] bool runs_one_at_a_time(const Sink& sink) noexcept {
    if constexpr (requires { sink.runs_one_at_a_time(); })
        return sink.runs_one_at_a_time();
    else
        return false;
}

/// A task that calls `f` for each number in [first, last). Like any task, a bulk task belongs to one thread
/// at a time.
///
/// A run of the task copies `f` and removes the first number from the range. Then the run queues the task
/// again, and calls the copy with the first number. So another thread may run the task during this call, and
/// the call may wait for any other call.
///
/// If a thread runs a task that another thread has queued, the run posts the right half of the range as a
/// second task. So both threads get a part of the calls.
///
/// If the executor runs one function at a time, a single run of the task makes all calls.
template <class Sink, class F>
class bulk_task final : public task {
public:
    template <class G>
    bulk_task(const Sink& sink, std::size_t first, std::size_t last, G&& f, const void* home = nullptr)
        : task(&answer), sink_(sink), first_(first), last_(last), home_(home), f_(std::forward<G>(f)) {}

private:
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        auto* const self = static_cast<bulk_task*>(base);
        if (request == task_request::run)
            run(self);
        else if (!task_offer::take_back(*self)) // if it returns true, queue() handles the task
            recycler::destroy(self);
        return nullptr;
    }

    static void run(bulk_task* self) {
        const Sink sink = self->sink_;
        std::optional<F> f; // the copy of the callable for this call
        if (!detail::runs_one_at_a_time(sink)) self->copy_to(f);
        if (!f) {
            detail::call_all(sink, self->f_, self->first_, self->last_);
            return recycler::destroy(self);
        }
        self->share();
        const std::size_t first = self->first_;
        const std::size_t last = self->last_;
        if (!EKIDEN_MUTANT(bulk_counts_too_late)) self->first_ = first + 1;
        if (first + 1 == last) {
            recycler::destroy(self);
        } else if (!queue(sink, self)) {
            return detail::call_all(sink, *f, first, last);
        }
        if (EKIDEN_MUTANT(bulk_counts_too_late)) self->first_ = first + 1;
        detail::call_with(*f, first);
    }

    /// Copies the callable to `f`. Leaves `f` empty if the copy constructor throws.
    void copy_to(std::optional<F>& f) noexcept {
        try {
            f.emplace(std::as_const(f_));
        } catch (...) { // without a copy, this thread makes all calls with the original callable
        }
    }

    /// Posts the right half of the range as a second task, if another thread has queued this task. In a
    /// simulation, always posts the right half, because the calls may begin in any order. A range of one or
    /// two numbers is not split. If there is no memory, this task keeps the whole range.
    void share() noexcept {
        const void* const here = &thread_record::here();
        const void* const before = std::exchange(home_, here);
        const bool is_from_elsewhere = before != nullptr && before != here;
        if ((!is_from_elsewhere && simulation_here() == nullptr) || last_ - first_ <= 2) return;
        const std::size_t middle = first_ + (last_ - first_) / 2;
        bulk_task* right = nullptr;
        try {
            right = recycler::create<bulk_task>(sink_, middle, last_, std::as_const(f_), here);
        } catch (...) {
            return;
        }
        if (queue(sink_, right)) last_ = middle;
    }

    /// Gives a task to the executor. If the executor accepts the task, returns true. If the executor refuses
    /// the task, destroys the task, abandons its calls and returns true. If the executor throws without
    /// accepting the task, destroys the task and returns false. In this case, the caller must make the calls
    /// of the task.
    [[nodiscard]] static bool queue(const Sink& sink, bulk_task* given) noexcept {
        const task_offer offered(*given);
        bool has_thrown = false;
        try {
            sink_access::accept(sink, given, task_order::usual);
        } catch (...) {
            has_thrown = true;
        }
        if (!offered.came_back()) return true;
        recycler::destroy(given);
        return !has_thrown;
    }

    const Sink sink_;
    std::size_t first_;
    std::size_t last_;
    const void* home_; // identifies the thread that has queued the task; null if it is unknown
    F f_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

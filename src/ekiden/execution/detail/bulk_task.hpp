/// Calls of one callable with the numbers of a range, as a task that comes back for each of them.
///
/// Part: execution. Used by: task_sink, for contexts that know repeated tasks.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/queue/repeated_task.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// f(i), or f() if it takes no number.
template <class F>
void call_with(F& f, std::size_t i) {
    if constexpr (std::invocable<F&, std::size_t>)
        static_cast<void>(std::invoke(f, i));
    else
        static_cast<void>(std::invoke(f));
}

/// The same; what the call throws is reported.
template <class Sink, class F>
void call_and_report(const Sink& sink, F& f, std::size_t i) noexcept {
    try {
        call_with(f, i);
    } catch (...) {
        sink.report_unhandled(type_description<F>());
    }
}

/// The same for all of [first, last), on this thread, whatever the calls throw: for want of memory.
template <class Sink, class F>
void call_all(const Sink& sink, F& f, std::size_t first, std::size_t last) noexcept {
    for (; first != last; ++first) call_and_report(sink, f, first);
}

/// The calls of f with [first, last), each with a copy of its own. A thread that the task is new to makes
/// half of it a task of its own, so that the thread which the task came from finds more.
template <class Sink, class F>
class bulk_task final : public repeated_task {
public:
    template <class G>
    bulk_task(const Sink& sink, std::size_t begin, std::size_t behind, G&& f, const void* thread = nullptr)
        : repeated_task(&answer, begin, behind, thread), sink_(sink), f_(std::forward<G>(f)) {}

private:
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        auto* const self = static_cast<bulk_task*>(base);
        if (request == task_request::abandon)
            recycler::destroy(self);
        else
            run(self);
        return nullptr;
    }

    static void run(bulk_task* self) {
        const void* const here = &thread_record::here();
        if (std::exchange(self->home, here) != here) self->split();
        const Sink sink = self->sink_;
        std::optional<F> f; // while another thread may have the task
        try {
            f.emplace(std::as_const(self->f_));
        } catch (...) { // then all of it here, with that one
            call_all(sink, self->f_, self->first, self->last);
            recycler::destroy(self);
            return;
        }
        const end came_to = sink.repeat(*self, &call_with_copy, &*f);
        if (came_to == end::elsewhere) return;
        const std::size_t first = self->first;
        const std::size_t last = self->last;
        recycler::destroy(self);
        if (came_to == end::last_call)
            call_with(*f, first);
        else
            call_all(sink, *f, first, last);
    }

    /// What the call does to the callable the others do not see.
    static void call_with_copy(const void* callable, std::size_t i) {
        const F& original = *static_cast<const F*>(callable);
        if constexpr (std::is_nothrow_copy_constructible_v<F>) {
            F f(original);
            call_with(f, i);
        } else {
            std::optional<F> f;
            try {
                f.emplace(original);
            } catch (...) { // it is called all the same
            }
            call_with(f.has_value() ? *f : const_cast<F&>(original), i);
        }
    }

    /// Gives the right half away, if there is memory for it.
    void split() noexcept {
        if (last - first <= 2) return; // it goes back with one call, for others to take
        const std::size_t middle = first + (last - first) / 2;
        try { // stopped: abandons it
            sink_.accept(recycler::create<bulk_task>(sink_, middle, last, std::as_const(f_), home),
                         task_order::usual);
            last = middle;
        } catch (...) { // it stays here
        }
    }

    const Sink sink_;
    F f_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// Everything that can be done with a place that accepts tasks: post, dispatch, defer, submit, post_bulk.
///
/// Part: execution. Used by: programs, through the executors of pools, loops, strands and lanes, which only
/// accept tasks.
#pragma once

#include <ekiden/execution/detail/bulk_task.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/queue/repeated_task.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Fails to compile, with a message, if `F` cannot be called.
template <class F>
constexpr void expect_callable_without_arguments() {
    static_assert(std::invocable<std::decay_t<F>&>,
                  "ekiden: post: the callable must be callable without arguments; std::bind_front, or a "
                  "lambda that captures them, makes it so. submit() takes arguments");
}

/// The callable together with its arguments.
template <class F, class... Args>
auto bound(F&& f, Args&&... args) {
    return [f = std::decay_t<F>(std::forward<F>(f)),
            ... args = std::decay_t<Args>(std::forward<Args>(
                args))]() mutable -> std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...> {
        return std::invoke(std::move(f), std::move(args)...);
    };
}

/// Whether dispatch() of a sink calls at once: inside of it, unless it knows better.
template <class Sink>
[[nodiscard]] bool sink_calls_in_place(const Sink& sink) noexcept {
    if constexpr (requires { sink.calls_in_place(); })
        return sink.calls_in_place();
    else
        return sink.running_in_this_thread();
}

/// Whether sinks of this type all run one function after the other.
template <class Sink>
[[nodiscard]] constexpr bool sink_is_serial() noexcept {
    if constexpr (requires { std::bool_constant<Sink::runs_one_at_a_time()>(); })
        return Sink::runs_one_at_a_time();
    else
        return false;
}

} // namespace detail

/// The base of `Sink`, a cheap handle that can be copied, with
///   bool accept(task*, task_order) const    takes the task over: runs it later, or abandons it. False if
///                                           that was done at once; if it throws, it has been too
///   task* continue_with(task*) const        the same, but a task that may run on the calling thread, now, is
///                                           given back, and the caller runs that (it may be another one,
///                                           which leads to this); else null. Throws as accept()
///   repeated_task::end repeat(repeated_task&, repeated_task::call, const void* callable) const
///                                           may be left out: makes the first call of a task that the calling
///                                           thread runs, and perhaps more, each when the task with the rest
///                                           is in a queue again. What a call throws passes through
///   bool runs_one_at_a_time() const noexcept    may be left out: whether functions run one after the other
///   bool running_in_this_thread() const noexcept    whether the caller is inside: runs a task of the context
///   void report_unhandled(const char* type) const noexcept    of the exception that is being handled
/// Together with context(), on_work_started() and on_work_finished() of the sink this makes it an executor of
/// the Networking TS (N4771, 13.2.2). Thread-safe if these are.
///
/// `allocator` gives the memory for the callable, and gets it back before the call; a std::allocator stands
/// for the library's own, which allocates nothing in the long run.
template <class Sink>
class task_sink {
public:
    /// Runs `f()`. Returns true if accepted; false if the context takes no more: then `f` has been destroyed
    /// by this thread. Throws std::bad_alloc, std::invalid_argument for an empty std::function and the like,
    /// and what copying `f` throws; nothing has been accepted then.
    template <class F, class Allocator = std::allocator<void>>
    bool post(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return sink().accept(make_task(std::forward<F>(f), allocator, "post"), task_order::usual);
    }

    /// As post(), for a continuation of the task that calls it: no other thread is woken for it before that
    /// task ends, sleeps or blocks, and it comes behind the tasks that wait already.
    template <class F, class Allocator = std::allocator<void>>
    bool defer(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return sink().accept(make_task(std::forward<F>(f), allocator, "defer"), task_order::deferred);
    }

    /// Calls `f()` before it returns if the caller is inside of the context, or if the executor lets it in
    /// for that, and what `f` throws passes through then; otherwise as post().
    template <class F, class Allocator = std::allocator<void>>
    void dispatch(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        if (detail::sink_calls_in_place(sink())) {
            refuse_empty<std::decay_t<F>>(f, "dispatch");
            std::decay_t<F> own(std::forward<F>(f));
            static_cast<void>(own());
        } else if (task* const now =
                       sink().continue_with(make_task(std::forward<F>(f), allocator, "dispatch"))) {
            now->run();
        }
    }

    /// As post(), behind the tasks that wait already. A task that goes on later does well to post the rest of
    /// itself so: with post(), a worker would take it again at once.
    template <class F>
    bool post_last(F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return sink().accept(make_task(std::forward<F>(f), "post_last"), task_order::last);
    }

    /// Runs `f(args...)`, all copied or moved, and returns the future of its result. Throws as post(). If the
    /// context takes no more, the future reports std::system_error(operation_canceled).
    template <class F, class... Args>
        requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>)
    auto submit(F&& f, Args&&... args) const {
        static_assert(std::invocable<std::decay_t<F>, std::decay_t<Args>...>,
                      "ekiden: submit: the callable cannot be called with these arguments. They are copied "
                      "and moved into the call; std::ref passes a reference");
        refuse_empty<std::decay_t<F>>(f, "submit");
        if constexpr (sizeof...(Args) == 0)
            return submitted<task_state>(std::forward<F>(f), [](auto&) {});
        else
            return submitted<task_state>(detail::bound(std::forward<F>(f), std::forward<Args>(args)...),
                                         [](auto&) {});
    }

    /// As submit(f), and a stop request cancels the task while it is queued, as future::cancel() would. `f`
    /// may take the token, to see requests that come later.
    template <class F>
    auto submit(std::stop_token token, F&& f) const {
        static_assert(std::invocable<std::decay_t<F>> || std::invocable<std::decay_t<F>, std::stop_token>,
                      "ekiden: submit: with a stop_token, the callable takes that or nothing");
        refuse_empty<std::decay_t<F>>(f, "submit");
        const auto cancel_on_request = [&token](auto& state) { state.cancel_on(token); };
        if constexpr (std::invocable<std::decay_t<F>, std::stop_token>)
            return submitted<stoppable_task_state>(detail::bound(std::forward<F>(f), token),
                                                   cancel_on_request);
        else
            return submitted<stoppable_task_state>(std::forward<F>(f), cancel_on_request);
    }

    /// Runs `f(i)`, or `f()` if it takes no number, for each i from 0 to n - 1, each call a task of its own.
    /// `f` is copied for the calls. Returns and throws as post(), for all of them. On a pool a task that is
    /// posted later may begin before calls that remain, whatever the number of workers. On a strand or a lane
    /// all calls are one task: they are made in order, and no other function comes in between. If the context
    /// takes no more tasks, no further call is made.
    template <class F>
    bool post_bulk(std::size_t n, F&& f) const {
        static_assert(std::invocable<std::decay_t<F>&, std::size_t> || std::invocable<std::decay_t<F>&>,
                      "ekiden: post_bulk: the callable takes the number of the call, or nothing");
        refuse_empty<std::decay_t<F>>(f, "post_bulk");
        if (n == 0) return true;
        if constexpr (requires(const Sink& s) { s.runs_one_at_a_time(); }) {
            using calls = serial_calls<std::decay_t<F>>;
            if (sink().runs_one_at_a_time())
                return sink().accept(make_task(calls{sink(), n, std::forward<F>(f)}), task_order::usual);
        }
        if constexpr (requires(const Sink& s, repeated_task& t) { s.repeat(t, nullptr, nullptr); }) {
            using calls = detail::bulk_task<Sink, std::decay_t<F>>;
            return sink().accept(recycler::create<calls>(sink(), std::size_t{0}, n, std::forward<F>(f)),
                                 task_order::usual);
        } else {
            return sink().accept(make_task(bulk<std::decay_t<F>>{sink(), 0, n, std::forward<F>(f)}),
                                 task_order::usual);
        }
    }

protected:
    task_sink() = default;
    ~task_sink() = default;
    task_sink(const task_sink&) = default;
    task_sink& operator=(const task_sink&) = default;
    friend bool operator==(const task_sink&, const task_sink&) = default;

private:
    [[nodiscard]] const Sink& sink() const noexcept { return static_cast<const Sink&>(*this); }

    template <template <class, class> class State, class F, class Prepare>
    auto submitted(F&& f, Prepare&& prepare) const {
        using result = std::invoke_result_t<std::decay_t<F>>;
        auto* const state = recycler::create<State<result, std::decay_t<F>>>(std::forward<F>(f));
        future<result> awaited(state);
        prepare(*state);
        sink().accept(state, task_order::usual);
        return awaited;
    }

    /// All calls of f, one after the other: a place that keeps an order runs no two of them at once.
    template <class F>
    struct serial_calls {
        Sink sink;
        std::size_t n;
        F f;

        void operator()() noexcept {
            const execution_context& context = sink.context();
            for (std::size_t i = 0; i != n && !context.refuses_tasks(); ++i)
                detail::call_and_report(sink, f, i);
        }
    };

    /// Calls of f for [first, last): gives the right half away until one is left, so that every call can be
    /// stolen.
    template <class F>
    struct bulk {
        Sink sink;
        std::size_t first;
        std::size_t last;
        F f;

        void operator()() {
            while (last - first > 1) {
                const std::size_t middle = first + (last - first) / 2;
                try { // stopped: abandons it
                    sink.accept(make_task(bulk{sink, middle, last, f}), task_order::usual);
                } catch (...) { // no memory, or f cannot be copied: then all of it here
                    return detail::call_all(sink, f, first, last);
                }
                last = middle;
            }
            detail::call_with(f, first);
        }
    };
};

} // namespace ekiden::inline EKIDEN_ABI

// A program that has the header of an executor has future::then(), too: executor.hpp includes it. It stands
// at the end because executor.hpp needs the class above.
#include <ekiden/execution/executor.hpp> // IWYU pragma: export

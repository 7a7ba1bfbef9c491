/// All operations of an object that accepts tasks: post, dispatch, defer, submit, post_bulk.
///
/// Part: execution. Used by: programs, through the executors of pools, loops, strands and lanes, which only
/// accept tasks.
#pragma once

#include <ekiden/execution/detail/bulk_task.hpp>
#include <ekiden/execution/detail/sink_access.hpp>
#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/future/future.hpp>
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

/// Returns the callable together with its arguments.
template <class F, class... Args>
auto bound(F&& f, Args&&... args) {
    return [f = std::decay_t<F>(std::forward<F>(f)),
            ... args = std::decay_t<Args>(std::forward<Args>(
                args))]() mutable -> std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...> {
        return std::invoke(std::move(f), std::move(args)...);
    };
}

/// Returns whether dispatch() of a sink calls at once. By default it does if the caller is inside the sink.
template <class Sink>
[[nodiscard]] bool sink_calls_in_place(const Sink& sink) noexcept {
    if constexpr (requires { sink.calls_in_place(); })
        return sink.calls_in_place();
    else
        return sink.running_in_this_thread();
}

} // namespace detail

/// The base of an executor `Sink`, a cheap handle that can be copied. `Sink` has these members:
///   bool accept(task*, task_order) const
///       Takes ownership of the task. Runs it later, or abandons it. Returns false if it has abandoned the
///       task at once. If it throws, it has abandoned the task, too.
///   task* continue_with(task*) const
///       Optional. Does the same, unless a task may run on the calling thread now. Then it returns a task
///       that the caller runs: the given one, or another one that leads to it. Otherwise it returns null.
///       Throws like accept(). By default it returns the given task if the caller is inside.
///   bool runs_one_at_a_time() const noexcept
///       Optional. Returns whether functions run one after the other.
///   bool running_in_this_thread() const noexcept
///       Returns whether the caller is inside, so that it runs a task of the context.
///   void report_unhandled(const char* type) const noexcept
///       Reports the exception that is being handled.
/// In a sink of a program, all of them are public.
///
/// With context(), on_work_started() and on_work_finished() of the sink, this makes the sink an executor of
/// the Networking TS (N4771, 13.2.2).
///
/// `allocator` supplies the memory for the callable, which is freed before the call. A std::allocator stands
/// for the library's own memory, which it reuses, so that it allocates nothing in the long run.
///
/// Thread safety: thread-safe if the members of the sink are.
template <class Sink>
class task_sink {
public:
    /// Runs `f()` later. Returns true if it is accepted. Returns false if the context accepts no more tasks;
    /// then this thread has destroyed `f`. Throws std::bad_alloc, what copying `f` throws, and
    /// std::invalid_argument if `f` is empty, like an empty std::function. If it throws, nothing has been
    /// accepted.
    template <class F, class Allocator = std::allocator<void>>
    bool post(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return give(make_task(std::forward<F>(f), allocator, "post"), task_order::usual);
    }

    /// Runs `f()` like post(), as a continuation of the task that calls it. No other thread is woken for `f`
    /// before that task ends, sleeps or blocks. `f` runs after the tasks that wait already.
    template <class F, class Allocator = std::allocator<void>>
    bool defer(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return give(make_task(std::forward<F>(f), allocator, "defer"), task_order::deferred);
    }

    /// Calls `f()` in this call if the caller is inside the context, or if the executor allows it. Then
    /// exceptions of `f` pass through. Otherwise posts `f` like post().
    template <class F, class Allocator = std::allocator<void>>
    void dispatch(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        if (detail::sink_calls_in_place(sink())) {
            refuse_empty<std::decay_t<F>>(f, "dispatch");
            std::decay_t<F> own(std::forward<F>(f));
            static_cast<void>(own());
        } else if (task* const now = detail::sink_access::continue_with(
                       sink(), make_task(std::forward<F>(f), allocator, "dispatch"))) {
            now->run();
        }
    }

    /// Runs `f()` like post(), after the tasks that wait already. A task that continues later should post its
    /// rest with this function. If it used post(), a worker would run the rest at once.
    template <class F>
    bool post_last(F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return give(make_task(std::forward<F>(f), "post_last"), task_order::last);
    }

    /// Runs `f(args...)` later, with a copy of `f` and of the arguments; rvalues are moved. Returns the
    /// future of its result. Throws like post(). If the context accepts no more tasks, the future reports
    /// std::system_error(operation_canceled).
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

    /// Runs `f` like submit(f). A stop request cancels the task while it is queued, like future::cancel().
    /// `f` may accept the token as its argument, to see later requests.
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

    /// Runs `f(i)` for each i from 0 to n - 1, or `f()` if `f` accepts no number. Each call is a task of its
    /// own. `f` is copied for the calls. Returns and throws like post(), once for all calls. On a pool, a
    /// task that is posted later may begin before the remaining calls, for any number of workers. On a strand
    /// or a lane all calls are one task: they are made in order, and no other function runs between them. If
    /// the context accepts no more tasks, no further call is made.
    template <class F>
    bool post_bulk(std::size_t n, F&& f) const {
        static_assert(std::invocable<std::decay_t<F>&, std::size_t> || std::invocable<std::decay_t<F>&>,
                      "ekiden: post_bulk: the callable takes the number of the call, or nothing");
        refuse_empty<std::decay_t<F>>(f, "post_bulk");
        if (n == 0) return true;
        using calls = detail::bulk_task<Sink, std::decay_t<F>>;
        return give(recycler::create<calls>(sink(), std::size_t{0}, n, std::forward<F>(f)),
                    task_order::usual);
    }

protected:
    task_sink() = default;
    ~task_sink() = default;
    task_sink(const task_sink&) = default;
    task_sink& operator=(const task_sink&) = default;
    friend bool operator==(const task_sink&, const task_sink&) = default;

private:
    friend struct detail::sink_access;

    [[nodiscard]] const Sink& sink() const noexcept { return static_cast<const Sink&>(*this); }

    bool give(task* given, task_order order) const {
        return detail::sink_access::accept(sink(), given, order);
    }
    [[nodiscard]] task* continue_with(task* given) const {
        if (sink().running_in_this_thread()) return given;
        give(given, task_order::usual);
        return nullptr;
    }

    template <template <class, class> class State, class F, class Prepare>
    auto submitted(F&& f, Prepare&& prepare) const {
        using result = std::invoke_result_t<std::decay_t<F>>;
        auto* const state = recycler::create<State<result, std::decay_t<F>>>(std::forward<F>(f));
        auto awaited = detail::future_access::make<future<result>>(state);
        prepare(*state);
        give(state, task_order::usual);
        return awaited;
    }
};

} // namespace ekiden::inline EKIDEN_ABI

// Every program that includes the header of an executor gets future::then(), too: executor.hpp includes it.
// The include stands at the end because executor.hpp needs the class above.
#include <ekiden/execution/executor.hpp> // IWYU pragma: export

/// Implements post, dispatch, defer, submit and post_bulk for an executor that defines only how it accepts a
/// task.
///
/// Part: execution. Used by: programs that write executors, and the executors of pools, loops, strands and
/// lanes.
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

/// Causes a compile error with a message if no copy of `F` can be made, if `F` cannot be called without
/// arguments, or if `F` returns a coroutine.
template <class F>
constexpr void expect_callable_without_arguments() {
    static_assert(
        std::is_constructible_v<std::decay_t<F>, F>,
        "ekiden: post keeps a copy of the callable: pass one that can be copied, or std::move() it");
    static_assert(std::invocable<std::decay_t<F>&>,
                  "ekiden: post: the callable must be callable without arguments; std::bind_front, or a "
                  "lambda that captures them, makes it so. submit() takes arguments");
    if constexpr (std::invocable<std::decay_t<F>&>) {
        static_assert(!begins_when_awaited<std::invoke_result_t<std::decay_t<F>&>>,
                      "ekiden: post: the callable returns a coroutine, which would never run: pass it to "
                      "co_spawn() or to async_scope::spawn()");
    }
}

/// Returns a callable that stores `f` and its arguments.
template <class F, class... Args>
auto bound(F&& f, Args&&... args) {
    return [f = std::decay_t<F>(std::forward<F>(f)),
            ... args = std::decay_t<Args>(std::forward<Args>(
                args))]() mutable -> std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...> {
        return std::invoke(std::move(f), std::move(args)...);
    };
}

/// Returns whether dispatch() of a sink calls its function at once. By default, the result is true if the
/// caller is inside the context of the sink.
template <class Sink>
[[nodiscard]] bool sink_calls_in_place(const Sink& sink) noexcept {
    if constexpr (requires { sink.calls_in_place(); })
        return sink.calls_in_place();
    else
        return sink.running_in_this_thread();
}

} // namespace detail

/// The base class of an executor of type `Sink`, which is a small handle that can be copied. `Sink` has these
/// members, which must be public if a program defines `Sink`:
///   bool accept(task*, task_order) const
///       Takes ownership of the task. Runs the task later, or abandons it.
///       Returns false if accept() itself has abandoned the task.
///       If accept() throws, it must abandon the task first.
///   task* continue_with(task*) const
///       This member is optional. Throws whatever accept() throws.
///       If no task may run on the calling thread now, passes the task to accept() and returns null.
///       Otherwise returns the given task, or another task that will run the given task.
///       The caller must run the returned task.
///       By default, returns the given task if the caller is inside the context.
///   bool runs_one_at_a_time() const noexcept
///       Returns whether the executor runs its functions one at a time. This member is optional.
///   bool running_in_this_thread() const noexcept
///       Returns whether the calling thread is inside the context, because it runs a task of the context.
///   void report_unhandled(const char* type) const noexcept
///       Reports the current exception.
///
/// If the sink also has context(), on_work_started() and on_work_finished(), it is an executor as defined by
/// the Networking TS (N4771, 13.2.2).
///
/// The argument `allocator` supplies the memory for the callable. This memory is freed before the callable is
/// called. If `allocator` is a std::allocator, the library does not call it, but reuses memory of earlier
/// tasks.
///
/// Thread safety: all functions are thread-safe if the functions of `Sink` are thread-safe.
template <class Sink>
class task_sink {
public:
    /// Runs `f()` later. Returns true if the context has accepted `f`. If the context accepts no more tasks,
    /// post() destroys its copy of `f` and returns false. Throws std::bad_alloc, and whatever the copy
    /// constructor of `f` throws. Throws std::invalid_argument if `f` is empty, for example an empty
    /// std::function. If post() throws, `f` has not been accepted.
    template <class F, class Allocator = std::allocator<void>>
    bool post(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return give(ekiden::make_task(std::forward<F>(f), allocator, "post"), task_order::usual);
    }

    /// Runs `f()` like post(), as a continuation of the calling task. No other thread is woken for `f` before
    /// the calling task returns, sleeps or blocks. `f` runs after the tasks that are already queued.
    template <class F, class Allocator = std::allocator<void>>
    bool defer(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        return give(ekiden::make_task(std::forward<F>(f), allocator, "defer"), task_order::deferred);
    }

    /// Calls `f()` at once, if the caller is inside the context or if the executor allows it. In this case,
    /// dispatch() throws whatever `f()` throws. In all other cases, dispatch() posts `f` like post().
    template <class F, class Allocator = std::allocator<void>>
    void dispatch(F&& f, const Allocator& allocator = {}) const {
        detail::expect_callable_without_arguments<F>();
        if (detail::sink_calls_in_place(sink())) {
            ekiden::refuse_empty<std::decay_t<F>>(f, "dispatch");
            std::decay_t<F> own(std::forward<F>(f));
            static_cast<void>(own());
        } else if (task* const now = detail::sink_access::continue_with(
                       sink(), ekiden::make_task(std::forward<F>(f), allocator, "dispatch"))) {
            now->run();
        }
    }

    /// Runs `f()` like post(), after the tasks that are already queued. A task that wants to let other tasks
    /// run should post its remaining work with post_last(). If the task called post() instead, a worker of a
    /// pool would run the remaining work at once.
    template <class F>
    bool post_last(F&& f) const {
        detail::expect_callable_without_arguments<F>();
        return give(ekiden::make_task(std::forward<F>(f), "post_last"), task_order::last);
    }

    /// Runs `f(args...)` later, with copies of `f` and of the arguments. Rvalues are moved instead of copied.
    /// Returns a future for the result of the call. Throws like post(). If the context accepts no more tasks,
    /// the future reports operation_canceled.
    template <class F, class... Args>
        requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>)
    auto submit(F&& f, Args&&... args) const {
        static_assert(std::invocable<std::decay_t<F>, std::decay_t<Args>...>,
                      "ekiden: submit: the callable cannot be called with these arguments. They are copied "
                      "and moved into the call; std::ref passes a reference");
        static_assert(std::is_constructible_v<std::decay_t<F>, F>,
                      "ekiden: submit keeps a copy of the callable: pass one that can be copied, or "
                      "std::move() it");
        ekiden::refuse_empty<std::decay_t<F>>(f, "submit");
        if constexpr (sizeof...(Args) == 0)
            return submitted<task_state>(std::forward<F>(f), [](auto&) {});
        else
            return submitted<task_state>(detail::bound(std::forward<F>(f), std::forward<Args>(args)...),
                                         [](auto&) {});
    }

    /// Runs `f` like submit(f). If a stop is requested while the task is queued, the task is canceled, like
    /// by future::cancel(). If `f` accepts a std::stop_token, `f` is called with `token` and can detect later
    /// stop requests.
    template <class F>
    auto submit(std::stop_token token, F&& f) const {
        static_assert(std::invocable<std::decay_t<F>> || std::invocable<std::decay_t<F>, std::stop_token>,
                      "ekiden: submit: with a stop_token, the callable takes that or nothing");
        ekiden::refuse_empty<std::decay_t<F>>(f, "submit");
        const auto cancel_on_request = [&token](auto& state) { state.cancel_on(token); };
        if constexpr (std::invocable<std::decay_t<F>, std::stop_token>)
            return submitted<stoppable_task_state>(detail::bound(std::forward<F>(f), token),
                                                   cancel_on_request);
        else
            return submitted<stoppable_task_state>(std::forward<F>(f), cancel_on_request);
    }

    /// Calls `f(i)` later, for each i from 0 to n - 1. If `f` accepts no number, calls `f()` n times. Each
    /// call uses its own copy of `f`, and several threads can make calls at the same time. Returns the same
    /// results and throws the same exceptions as post(). One result stands for all calls. Even on a pool with
    /// one worker, a task that is posted later may run before some of the calls. On a strand or a lane, one
    /// task makes all calls in order, and no other function runs between two calls. If the context accepts no
    /// more tasks, no further call is made.
    template <class F>
    bool post_bulk(std::size_t n, F&& f) const {
        static_assert(std::invocable<std::decay_t<F>&, std::size_t> || std::invocable<std::decay_t<F>&>,
                      "ekiden: post_bulk: the callable takes the number of the call, or nothing");
        ekiden::refuse_empty<std::decay_t<F>>(f, "post_bulk");
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

// A program that includes the header of any executor also gets future::then(), because executor.hpp includes
// then.hpp. The include is at the end, because executor.hpp needs the class above.
#include <ekiden/execution/executor.hpp> // IWYU pragma: export

/// The part that the runs of a pipeline and of a task_graph have in common: start, stop, exceptions and end.
///
/// Part: flow. Used by: pipeline, task_graph.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/burials.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/fork/detail/task_count.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// True for the callables that return a coroutine, which the library awaits.
template <class T>
inline constexpr bool is_awaited = false;
template <class T>
inline constexpr bool is_awaited<coroutine<T>> = true;

/// The type of the result without the coroutine around it.
template <class T>
struct awaited_value {
    using type = T;
};
template <class T>
struct awaited_value<coroutine<T>> {
    using type = T;
};

/// True if `F` can be called with `Args`, or with `Args` and a stop token.
template <class F, class... Args>
inline constexpr bool takes = std::invocable<F&, Args...> || std::invocable<F&, Args..., std::stop_token>;

/// The state of a run. A run begins with begin() and ends with end(). Between two runs, the state is idle.
///
/// Thread safety: request_stop(), fail(), is_over() and get_stop_token() may be called concurrently.
class flow_run {
public:
    /// `name` names the class in the messages of exceptions.
    explicit flow_run(const char* name) noexcept : name_(name) {}
    flow_run(const flow_run&) = delete;
    flow_run& operator=(const flow_run&) = delete;

    /// The call of run() that waits for a run.
    struct waiting_call {
        exception_list others;          ///< the exceptions after the first one
        std::optional<root_wait> roots; ///< destroys the coroutines of the run that a stopped pool refuses
        bool runs_here = false;         ///< the caller is a worker, so it begins the run without a post
    };

    /// Begins a run and returns its future. `caller` may be null. Throws
    /// std::system_error(device_or_resource_busy) if a run is in progress.
    [[nodiscard]] future<bool> begin(any_executor where, const std::stop_token& stop, waiting_call* caller);
    /// Ends the run and makes its future ready. The caller must not access this object afterwards.
    void end() noexcept;
    /// Throws std::system_error(device_or_resource_busy) if a run is in progress.
    void expect_idle() const;
    /// Requests a stop of a run in progress, and waits for its end. Returns at once in the child of a fork()
    /// if the run has begun before the fork. Only the destructor of the owner may call this function.
    void stop_and_wait(bool has_coroutines) noexcept;

    bool request_stop() noexcept;
    [[nodiscard]] bool stop_requested() const noexcept;
    [[nodiscard]] std::stop_token get_stop_token() const noexcept;

    /// Ends the run because of an exception. The first exception is the result of the run. Requests a stop of
    /// the tasks that still run. Ignores an operation_canceled after a stop or after another exception.
    void fail(std::exception_ptr error) noexcept;
    /// Ends the run because an executor has dropped a task of the run.
    void dropped() noexcept { fail(canceled_error(name_)); }
    /// Returns whether the rest of the run is left out.
    [[nodiscard]] bool is_over() const noexcept { return is_over_.load(sys::relaxed); }

    [[nodiscard]] const any_executor& where() const noexcept { return where_; }
    /// Posts a task of the run. If the executor drops or refuses the task, the task is abandoned. The run
    /// must not end during the call, so the caller must hold another part of the run.
    void post(task& posted) const noexcept { post_by(where_, posted); }
    /// Posts a task of the run, after which the caller holds no part of the run.
    void post_last(task& posted) const noexcept { post_by(any_executor(where_), posted); }

    /// Calls `start(caller)`, waits for the run, and reports all exceptions as wait functions do. If
    /// `has_coroutines` is true, the run may have coroutines that wait.
    template <class Start>
    static bool run(const any_executor& where, bool has_coroutines, Start start) {
        waiting_call caller;
        caller.runs_here = where.running_in_this_thread();
        struct report {
            waiting_call& caller;
            ~report() { replace_suppressed(std::move(caller.others)); }
        } guard{caller};
        if (has_coroutines) caller.roots.emplace(use_service<coroutine_service>(where.context()).buried());
        auto result = start(&caller);
        if (caller.roots) caller.roots->wait();
        return result.get();
    }

private:
    static void post_by(const any_executor& where, task& posted) noexcept;

    struct ender {
        flow_run* run;
        void operator()() const noexcept { (void)run->request_stop(); }
    };

    const char* const name_;
    any_executor where_;
    std::optional<promise<bool>> promise_; // under lock_: has a value while a run is in progress
    std::optional<std::stop_callback<ender>> on_stop_;
    mutable sys::slow_lock lock_;
    std::uint16_t begun_in_ = sys::fork_generation(); // under lock_: the fork generation of the last begin()
    bool is_stopped_ = false;                         // under lock_: request_stop() has stopped this run
    std::stop_source stop_;                           // under lock_: the source of the tasks' stop token
    std::exception_ptr first_;                        // under lock_
    waiting_call* caller_ = nullptr;                  // under lock_
    std::optional<root_wait::root_end> end_; // under lock_: tells a thread in root_wait::wait() about the end
    task_count runs_;                        // the destructor waits for it
    alignas(sys::isolation) sys::atomic<bool> is_over_{false};
};

/// Calls `f(args...)`, or `f(args..., token)` with the stop token of the run if `f` needs it.
template <class F, class... Args>
decltype(auto) run_call(const flow_run& run, F& f, Args&&... args) {
    if constexpr (std::invocable<F&, Args...>)
        return std::invoke(f, std::forward<Args>(args)...);
    else
        return std::invoke(f, std::forward<Args>(args)..., run.get_stop_token());
}

/// Reports the end of a coroutine of a run to `done`. Calls `done.succeed()`, `done.fail(error)`, or, if an
/// executor has dropped the coroutine, `done.drop()`. Each of these calls may end the run.
template <class Done>
class reports_end {
public:
    explicit reports_end(Done done) noexcept : done_(done) {}
    reports_end(reports_end&& other) noexcept
        : done_(other.done_), is_owed_(std::exchange(other.is_owed_, false)) {}
    reports_end& operator=(reports_end&&) = delete;
    ~reports_end() {
        if (is_owed_) done_.drop();
    }

    [[nodiscard]] const Done& done() const noexcept { return done_; }
    void report(std::exception_ptr error) noexcept {
        is_owed_ = false;
        if (error != nullptr)
            done_.fail(std::move(error));
        else
            done_.succeed();
    }

private:
    Done done_;
    bool is_owed_ = true;
};

/// Awaits the coroutine that `f(args...)` returns, and passes the result to `done.store()`. When the end is
/// reported, the coroutine and its result have been destroyed. If the run is over when the executor begins
/// the coroutine, `f` is not called.
template <class Done, class F, class... Args>
root_coroutine run_coroutine(const flow_run& run, reports_end<Done> end, F& f, Args*... args) {
    if (run.is_over()) co_return; // destroys `end`, which is ignored in a run that is over
    std::exception_ptr error;
    try {
        if constexpr (std::is_void_v<typename awaited_value<
                          std::remove_cvref_t<decltype(run_call(run, f, std::move(*args)...))>>::type>) {
            co_await detail::run_call(run, f, std::move(*args)...);
        } else {
            end.done().store(co_await detail::run_call(run, f, std::move(*args)...));
        }
    } catch (...) {
        error = std::current_exception();
    }
    end.report(std::move(error));
}

/// Starts the coroutine that `f(args...)` returns, as a part of a run. If the start fails, `done` gets the
/// outcome. The run may end in this call.
template <class Done, class F, class... Args>
void begin_coroutine(const flow_run& run, Done done, F& f, Args&... args) noexcept {
    try {
        detail::run_coroutine(run, reports_end<Done>(done), f, std::addressof(args)...)
            .promise()
            .begin(any_executor(run.where()), spawn_options().stop(run.get_stop_token()));
    } catch (...) { // the end was destroyed, and has reported that the coroutine was dropped
    }
}

/// Returns the number of items in flight for the option `asked` of a pipeline that runs on `where`. Throws
/// std::invalid_argument if the option is out of range.
[[nodiscard]] std::size_t checked_in_flight(const any_executor& where, std::size_t asked, std::size_t most);

} // namespace ekiden::inline EKIDEN_ABI::detail

/// Keeps a context running while another thread or another context does work for this context.
///
/// Part: execution. Used by: programs, and asynchronous operations. Modeled on sections 13.16 and 13.17 of
/// the Networking TS (N4771).
#pragma once

#include <ekiden/execution/associated_executor.hpp>

#include <concepts>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A guard that counts as outstanding work of the executor's context. A guard counts until reset() is called
/// or the guard is destroyed. Each copy of a guard counts separately.
///
/// Thread safety: only one thread at a time may use a guard.
template <executor Executor>
class executor_work_guard {
public:
    using executor_type = Executor;

    explicit executor_work_guard(const Executor& where) noexcept : executor_(where) {
        executor_.on_work_started();
    }
    executor_work_guard(const executor_work_guard& other) noexcept
        : executor_(other.executor_), owns_(other.owns_) {
        if (owns_) executor_.on_work_started();
    }
    executor_work_guard(executor_work_guard&& other) noexcept
        : executor_(other.executor_), owns_(std::exchange(other.owns_, false)) {}
    executor_work_guard& operator=(const executor_work_guard&) = delete;
    ~executor_work_guard() { reset(); }

    [[nodiscard]] Executor get_executor() const noexcept { return executor_; }
    /// Returns whether the guard still counts as work.
    [[nodiscard]] bool owns_work() const noexcept { return owns_; }
    /// Ends the outstanding work of this guard. Has no effect if the work has ended already.
    void reset() noexcept {
        if (std::exchange(owns_, false)) executor_.on_work_finished();
    }

private:
    Executor executor_;
    bool owns_ = true;
};

/// Returns a guard for an executor, for the executor of a context, or for the associated executor of an
/// object. If an object has no associated executor, the guard uses the second argument.
template <executor Executor>
[[nodiscard]] executor_work_guard<Executor> make_work_guard(const Executor& where) {
    return executor_work_guard<Executor>(where);
}
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto make_work_guard(Context& context) {
    return ekiden::make_work_guard(context.get_executor());
}
template <class T>
    requires(!executor<T> && !std::derived_from<T, execution_context>)
[[nodiscard]] auto make_work_guard(const T& t) {
    return ekiden::make_work_guard(ekiden::get_associated_executor(t));
}
template <class T, class ExecutorOrContext>
[[nodiscard]] auto make_work_guard(const T& t, ExecutorOrContext&& otherwise) {
    return ekiden::make_work_guard(
        ekiden::get_associated_executor(t, std::forward<ExecutorOrContext>(otherwise)));
}

} // namespace ekiden::inline EKIDEN_ABI

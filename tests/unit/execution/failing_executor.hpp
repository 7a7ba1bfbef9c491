/// An executor that throws when the test asks for it.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/task.hpp>

#include <atomic>
#include <stdexcept>

namespace ekiden_test {

/// The executor of a pool, which throws instead while `is_failing` is true.
struct failing_executor : ekiden::task_sink<failing_executor> {
    failing_executor(ekiden::thread_pool::executor_type of, const std::atomic<bool>& failing) noexcept
        : inner(of), is_failing(&failing) {}
    ekiden::thread_pool& context() const noexcept { return inner.context(); }
    void on_work_started() const noexcept { inner.on_work_started(); }
    void on_work_finished() const noexcept { inner.on_work_finished(); }
    bool running_in_this_thread() const noexcept { return inner.running_in_this_thread(); }
    bool accept(ekiden::task* given, ekiden::task_order order) const {
        ekiden::owned_task kept(given);
        if (*is_failing) throw std::runtime_error("not now");
        return ekiden::accept_task(inner, kept.release(), order);
    }
    ekiden::task* continue_with(ekiden::task* given) const { return ekiden::continue_task(inner, given); }
    void report_unhandled(const char* type) const noexcept { inner.report_unhandled(type); }
    friend bool operator==(const failing_executor& a, const failing_executor& b) noexcept {
        return a.inner == b.inner;
    }

    ekiden::thread_pool::executor_type inner;
    const std::atomic<bool>* is_failing;
};

} // namespace ekiden_test

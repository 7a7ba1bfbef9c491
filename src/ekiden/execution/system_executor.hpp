/// The default executor: used when no executor is named. Its threads are those of the process.
///
/// Part: execution. Used by: programs, associated_executor, as its default. Modeled on N4771, 13.20. The
/// functions are in pool/detail/system_executor.cpp: the threads are those of default_pool().
#pragma once

#include <ekiden/execution/task_sink.hpp>

namespace ekiden::inline EKIDEN_ABI {

class execution_context;

/// An executor on default_pool(), which the first use starts. There is no other system context. All objects
/// of this type are equal. Every thread counts as inside, so dispatch() always calls at once. post() and
/// submit() throw like the constructor of thread_pool, in addition to their own exceptions. Nothing waits for
/// posted tasks: tasks that are queued when the program ends are lost.
class system_executor : public task_sink<system_executor> {
public:
    [[nodiscard]] execution_context& context() const;
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    [[nodiscard]] bool running_in_this_thread() const noexcept { return true; }
    friend bool operator==(const system_executor&, const system_executor&) noexcept { return true; }
    void report_unhandled(const char* type) const noexcept;

private:
    friend struct detail::sink_access;

    bool accept(task* given, task_order order) const;
};

} // namespace ekiden::inline EKIDEN_ABI

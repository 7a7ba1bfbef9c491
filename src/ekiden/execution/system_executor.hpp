/// The default executor, which is used when no executor is named.
///
/// Part: execution. Used by: programs, and associated_executor. Modeled on section 13.20 of the Networking TS
/// (N4771). The member functions of system_executor are defined in pool/detail/system_executor.cpp, because
/// they use default_pool().
#pragma once

#include <ekiden/execution/task_sink.hpp>

namespace ekiden::inline EKIDEN_ABI {

class execution_context;

/// An executor that runs tasks on default_pool(). The first use starts this pool. All objects of this type
/// are equal. Every thread counts as a thread of this executor, so dispatch() always calls its function at
/// once. The functions post() and submit() also throw whatever the constructor of thread_pool throws. The
/// program does not wait for posted tasks when it ends. Tasks that are still queued at the end of the program
/// are lost.
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

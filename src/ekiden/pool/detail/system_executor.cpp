#include <ekiden/execution/system_executor.hpp>

#include <ekiden/pool/default_pool.hpp>

namespace ekiden::inline EKIDEN_ABI {

execution_context& system_executor::context() const { return default_pool(); }

bool system_executor::accept(task* given, task_order order) const {
    owned_task owned(given); // default_pool() may throw
    const thread_pool::executor_type threads = default_pool().get_executor();
    return accept_task(threads, owned.release(), order);
}

void system_executor::report_unhandled(const char* type) const noexcept {
    default_pool().get_executor().report_unhandled(type);
}

} // namespace ekiden::inline EKIDEN_ABI

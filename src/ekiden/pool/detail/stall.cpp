#include <ekiden/pool/stall.hpp>

namespace ekiden::inline EKIDEN_ABI {

std::string stall_report::text() const {
    std::string result = why == reason::deadlocked
                             ? "tasks wait for each other's results in a circle:\n"
                             : "tasks wait, but every thread is blocked and there may be no more of them:\n";
    for (const stalled_thread& thread : threads) {
        result += "  thread " + std::to_string(thread.index) + " runs " + thread.task + ", waits for "
                  + thread.waits_for;
        if (thread.waited.count() != 0)
            result += ", for " + std::to_string(thread.waited.count() / 1'000'000) + " ms";
        result += '\n';
    }
    return result + "  " + std::to_string(tasks_pending) + " tasks are queued or running\n";
}

} // namespace ekiden::inline EKIDEN_ABI

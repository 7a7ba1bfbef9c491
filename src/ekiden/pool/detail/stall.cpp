#include <ekiden/pool/stall.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace {

const char* cause(stall_report::reason why) noexcept {
    switch (why) {
    case stall_report::reason::deadlocked:
        return "tasks wait for each other's results in a circle:\n";
    case stall_report::reason::too_deep:
        return "tasks wait, but every thread waits for a result and has too little stack left to run them:\n";
    default:
        return "tasks wait, but every thread is blocked and there may be no more of them:\n";
    }
}

} // namespace

std::string stall_report::text() const {
    std::string result = cause(why);
    for (const stalled_thread& thread : threads) {
        result += "  thread " + std::to_string(thread.index) + " runs " + thread.task + ", waits for "
                  + thread.waits_for;
        if (thread.waited.count() != 0)
            result += ", for " + std::to_string(thread.waited.count() / 1'000'000) + " ms";
        if (why == reason::too_deep)
            result += ", with " + std::to_string(thread.nested_waits) + " waits on its stack";
        result += '\n';
    }
    return result + "  " + std::to_string(tasks_pending) + " tasks are queued or running\n";
}

} // namespace ekiden::inline EKIDEN_ABI

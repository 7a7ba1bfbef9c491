#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/slow_task.hpp>

#include <mutex>
#include <new>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

void slow_task_history::add(const slow_task_report& report) noexcept {
    try {
        const std::lock_guard guard(lock_);
        all_.push_front(report);
        if (all_.size() > most_) all_.pop_back();
    } catch (const std::bad_alloc&) { // The history omits this report.
    }
}

std::vector<slow_task_report> slow_task_history::newest() const {
    const std::lock_guard guard(lock_);
    return {all_.begin(), all_.end()};
}

void add_metrics(prometheus_page& to, const slow_task_history& of, std::string_view pool) {
    std::size_t rank = 0;
    for (const slow_task_report& one : of.newest())
        to.gauge("ekiden_pool_slow_task_seconds",
                 "How long the last slow tasks had run when they were reported, the newest first.",
                 std::chrono::duration<double>(one.ran_for).count(),
                 {{"pool", pool},
                  {"rank", std::to_string(++rank)},
                  {"thread", std::to_string(one.index)},
                  {"task", one.task},
                  {"waits_for", one.waits_for}});
}

} // namespace ekiden::inline EKIDEN_ABI

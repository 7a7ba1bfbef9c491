#include <ekiden/pool/detail/slow_tasks.hpp>

#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/sys/call_stack.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdio>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace {

std::uint64_t in_ns(std::chrono::milliseconds time) noexcept {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(sys::bounded(time)).count());
}

std::string type_of(task::function type) {
    return type != nullptr ? std::string(described_type(type(nullptr, task_request::describe))) : "";
}

} // namespace

std::string slow_task_report::text() const {
    std::string result = "thread " + std::to_string(index) + " has run a task of type " + task + " for "
                         + std::to_string(ran_for.count() / 1'000'000) + " ms";
    if (!waits_for.empty()) result += ", which waits for " + waits_for;
    return result + "\n" + call_stack;
}

slow_tasks::slow_tasks(scheduler& pool, const thread_pool_options& options)
    : pool_(pool), options_(options), slow_ns_(in_ns(options.slow_task_time)),
      first_long_(histogram_snapshot::bucket_of(in_ns(options.queue_delay_limit)) + 1),
      seen_(slow_ns_ != 0 ? std::make_unique<stack[]>(pool.threads().most()) : nullptr) {}

void slow_tasks::check() noexcept {
    if (seen_ != nullptr) check_tasks();
    if (options_.queue_delay_limit.count() != 0) check_delays();
}

void slow_tasks::check_tasks() noexcept {
    for (const auto& w : pool_.workers()) {
        const worker::all_in_progress now = w->in_progress();
        const std::uint64_t now_ns = sys::now_ns();
        for (std::size_t i = 0; i != worker::most_in_progress; ++i) {
            level& here = seen_[w->index()][i];
            const std::uint64_t number = i < now.count ? now.tasks[i].number : none;
            if (std::exchange(here.number, number) != number) here.since_ns = now_ns;
            if (number == none || now_ns - here.since_ns < slow_ns_ || here.is_reported(number)) continue;
            here.reported = number;
            report(*w, i, now.tasks[i], here.since_ns);
        }
    }
}

bool slow_tasks::has_unreported() const noexcept {
    if (seen_ == nullptr) return false;
    for (const auto& w : pool_.workers()) {
        const worker::all_in_progress now = w->in_progress();
        for (std::size_t i = 0; i != now.count; ++i) {
            if (!seen_[w->index()][i].is_reported(now.tasks[i].number)) return true;
        }
    }
    return false;
}

void slow_tasks::report(const worker& of, std::size_t at, const worker::task_in_progress& task,
                        std::uint64_t since_ns) noexcept {
    slow_task_report told;
    try {
        const worker::snapshot state = of.look();
        told.index = of.index();
        told.task = type_of(task.type);
        told.since = std::chrono::steady_clock::time_point(
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                std::chrono::nanoseconds(since_ns)));
        if (state.awaited != nullptr)
            told.waits_for = type_of(state.awaited_type);
        else if (state.blocked_on != nullptr)
            told.waits_for = state.blocked_on;
        if (options_.stack_signal != 0)
            told.call_stack =
                sys::call_stack_of(pool_.threads().probe_of(of.index()), options_.stack_signal, "  ");
        const worker::all_in_progress now = of.in_progress();
        if (at >= now.count || now.tasks[at].number != task.number) told.call_stack.clear();
        told.ran_for = std::chrono::nanoseconds(sys::now_ns() - since_ns);
    } catch (...) { // no memory for a report
        return;
    }
    pool_.report_slow_task(told);
}

/// Compares the delays with those of the last sample. If a bucket above the limit has grown, a task has
/// waited for too long.
void slow_tasks::check_delays() noexcept {
    histogram_snapshot now;
    for (const auto& w : pool_.workers()) now += w->delays();
    std::size_t longest = histogram_snapshot::buckets;
    while (longest-- > first_long_) {
        if (now.counts[longest] != delays_.counts[longest]) break;
    }
    delays_ = now;
    if (longest < first_long_ || !options_.on_queue_delay) return;
    const hook_scope here("on_queue_delay");
    options_.on_queue_delay(std::chrono::nanoseconds(histogram_snapshot::lower_bound(longest)));
}

} // namespace ekiden::inline EKIDEN_ABI

/// An open loop: sends requests when they are due, even if earlier ones are not finished. The delay of a
/// request that is sent late counts from the time when it was due (no coordinated omission; Schroeder,
/// Wierman, Harchol-Balter, "Open versus closed", NSDI 2006).
///
/// Used by: experiment replay.
#pragma once

#include <lab/harness/system.hpp>
#include <lab/harness/usage.hpp>
#include <lab/replay/schedule.hpp>
#include <lab/replay/service.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab::replay {

/// The result of a run with a model. The vectors have one element for each request that was sent.
struct run_record {
    std::uint64_t begin_ns = 0;
    std::size_t sent = 0;               // all requests, or those before the backlog became too long
    std::vector<std::uint64_t> lags_ns; // for each request: how late it was sent
    // For each request: how many had been sent and not served when it was sent.
    std::vector<std::size_t> backlog;
    double posting_s = 0;       // time inside the model's post()
    double generator_cpu_s = 0; // processor time of this thread
};

/// Returns the backlog at which the clients give up, because the model cannot keep up.
inline std::size_t most_waiting(const schedule& offered, unsigned workers) {
    constexpr double seconds = 2; // of work for all workers
    return static_cast<std::size_t>(seconds * 1e9 * workers / std::max(offered.mean_ns, 100.0));
}

class open_loop {
public:
    /// If `may_spin`, this thread has its own processor, and may spin for the last 60 us of a wait.
    /// `most_waiting` is the backlog at which it gives up.
    open_loop(const schedule& offered, bool may_spin, std::size_t most_waiting)
        : offered_(offered), may_spin_(may_spin), most_waiting_(most_waiting) {
        record_.lags_ns.resize(offered.offers.size());
        record_.backlog.resize(offered.offers.size());
    }

    /// post(index) passes a request to the model. It must not wait for the request.
    template <class Post>
    run_record run(const service& s, Post post) {
        const double cpu_before_s = thread_cpu_s();
        record_.begin_ns = now_ns();
        std::uint64_t posting_ns = 0;
        std::uint64_t now = record_.begin_ns;
        for (std::size_t i = 0; i < offered_.offers.size(); ++i) {
            const std::uint64_t due = record_.begin_ns + offered_.offers[i].due_ns;
            if (now < due) now = wait_until(due);
            record_.lags_ns[i] = now - std::min(now, due);
            record_.backlog[i] = i - std::min(i, s.served());
            if (offered_.is_paced() && record_.backlog[i] > most_waiting_) break;
            post(i);
            const std::uint64_t after = now_ns();
            posting_ns += after - now;
            now = after;
            record_.sent = i + 1;
        }
        record_.posting_s = static_cast<double>(posting_ns) * 1e-9;
        record_.generator_cpu_s = thread_cpu_s() - cpu_before_s;
        return std::move(record_);
    }

private:
    std::uint64_t wait_until(std::uint64_t due) const {
        constexpr std::uint64_t awake_ns = 60'000;
        std::uint64_t now = now_ns();
        const std::uint64_t sleep_to = may_spin_ ? due - std::min(due, awake_ns) : due;
        while (now < sleep_to) {
            const timespec until{.tv_sec = static_cast<time_t>(sleep_to / 1'000'000'000),
                                 .tv_nsec = static_cast<long>(sleep_to % 1'000'000'000)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
            now = now_ns();
        }
        while (now < due) now = now_ns();
        return now;
    }

    const schedule& offered_;
    bool may_spin_;
    std::size_t most_waiting_;
    run_record record_;
};

} // namespace lab::replay

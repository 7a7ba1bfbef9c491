#include <ekiden/pool/watch.hpp>

#include <ekiden/pool/crew.hpp>
#include <ekiden/pool/scheduler.hpp>
#include <ekiden/pool/worker.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

watch::watch(scheduler& pool, crew& threads, sys::clock::duration interval, std::string name)
    : pool_(pool), crew_(threads), interval_(interval),
      thread_(sys::start_thread("thread_pool", "its watch", [this, name = std::move(name)] {
          sys::set_thread_name(name + "-watch");
          run();
      })) {}

watch::~watch() {
    word_.store(leaving, sys::relaxed);
    sys::futex_wake(word_);
    thread_.join();
}

void watch::wake() noexcept {
    // [E3] The worker's word is no longer idle, before the look at ours; pairs with the fence in run().
    sys::fence(sys::seq_cst);
    std::uint32_t expected = asleep;
    if (word_.load(sys::relaxed) == asleep
        && word_.compare_exchange_strong(expected, looking, sys::relaxed, sys::relaxed))
        sys::futex_wake(word_);
}

void watch::run() noexcept {
    // Where threads block, the next ones probably do: then it looks more often.
    constexpr sys::clock::duration hurry = std::chrono::milliseconds(1);
    sys::clock::duration pause = interval_;
    while (word_.load(sys::relaxed) != leaving) {
        pause = look() ? std::min(hurry, interval_) : std::min(pause * 2, interval_);
        std::uint32_t word = looking;
        if (word_.compare_exchange_strong(word, asleep, sys::relaxed, sys::relaxed)) {
            // [E3] Asleep, before the look at the workers: either this sees one awake, or it sees this
            // asleep.
            sys::fence(sys::seq_cst);
            if (is_quiet()) {
                while (word_.load(sys::relaxed) == asleep) sys::futex_wait(word_, asleep);
                pause = interval_;
            } else {
                word = asleep;
                (void)word_.compare_exchange_strong(word, looking, sys::relaxed, sys::relaxed);
            }
        }
        const auto next = sys::clock::now() + pause;
        while (word_.load(sys::relaxed) != leaving && sys::futex_wait_until(word_, looking, next)) {
        }
    }
}

/// Whether every worker sleeps for want of tasks, or stands by.
bool watch::is_quiet() const noexcept {
    const std::lock_guard guard(crew_.lock_);
    using duty = crew::member::duty;
    for (unsigned i = 0; i != crew_.workers().size(); ++i) {
        switch (crew_.members_[i].is) {
        case duty::none:
        case duty::standing_by:
            break;
        case duty::at_work:
            if (!pool_.sleep().is_waiting(i)) return false;
            break;
        case duty::blocked:
        case duty::compensated:
            return false;
        }
    }
    return true;
}

bool watch::look() noexcept {
    const bool is_paused = (pool_.gate().load(sys::relaxed) & gate_bit::paused) != 0;
    // Tasks wait, and nobody sleeps who could be woken for them.
    const bool is_starving = !is_paused && pool_.sleep().waiting() == 0 && pool_.has_work();
    starving_looks_ = is_starving ? starving_looks_ + 1 : 0;
    bool has_hired = false;
    {
        const std::lock_guard guard(crew_.lock_);
        take_back();
        if (starving_looks_ > 1) has_hired = compensate();
    }
    report_saturation(starving_looks_ > 1);
    return has_hired;
}

/// Who was found blocked, and has got on since, is at work again.
void watch::take_back() noexcept {
    for (unsigned i = 0; i != crew_.workers().size(); ++i) {
        crew::member& m = crew_.members_[i];
        if (m.is != crew::member::duty::compensated) continue;
        const bool has_run = m.probe.cpu_ns() - m.seen_cpu_ns
                             > static_cast<std::uint64_t>(std::chrono::nanoseconds(interval_).count()) / 4;
        const bool is_idle = pool_.sleep().is_waiting(i);
        if (crew_.workers()[i]->finished() == m.seen_finished && !has_run && !is_idle) continue;
        m.is = crew::member::duty::at_work;
        --crew_.blocked_;
        crew_.change_active(+1);
        // Perhaps it has gone to sleep for good, when the pool did not seem crowded.
        pool_.sleep().signal(i);
    }
}

/// A worker that sleeps in the kernel, at two looks, in the same task, is blocked. Returns whether another
/// thread was put to work.
bool watch::compensate() noexcept {
    for (unsigned i = 0; i != crew_.workers().size(); ++i) {
        crew::member& m = crew_.members_[i];
        if (m.is != crew::member::duty::at_work) continue;
        const std::uint64_t finished = crew_.workers()[i]->finished();
        const std::uint64_t cpu_ns = m.probe.cpu_ns();
        const bool has_stood = finished == m.seen_finished && cpu_ns == m.seen_cpu_ns;
        m.seen_finished = finished;
        m.seen_cpu_ns = cpu_ns;
        if (!has_stood || !m.probe.is_asleep()) continue;
        m.is = crew::member::duty::compensated;
        m.since_ns = sys::now_ns();
        ++crew_.blocked_;
        crew_.change_active(-1);
    }
    const unsigned before = crew_.active_.load(sys::relaxed);
    while (crew_.active_.load(sys::relaxed) < crew_.base()) {
        const unsigned now = crew_.active_.load(sys::relaxed);
        crew_.hire();
        if (crew_.active_.load(sys::relaxed) == now) break;
    }
    return crew_.active_.load(sys::relaxed) != before;
}

void watch::report_saturation(bool is_starving) noexcept {
    stall_report report;
    try {
        const std::lock_guard guard(crew_.lock_);
        const bool is_saturated =
            is_starving && crew_.threads_ == crew_.most_ && crew_.active_.load(sys::relaxed) == 0;
        const bool is_new = is_saturated && !has_reported_;
        has_reported_ = is_saturated;
        if (!is_new) return;
        ++crew_.stalls_;
        for (unsigned i = 0; i != crew_.workers().size(); ++i) report.threads.push_back(crew_.describe(i));
    } catch (...) { // no memory for a report
        return;
    }
    pool_.report_stall(std::move(report));
}

} // namespace ekiden::inline EKIDEN_ABI

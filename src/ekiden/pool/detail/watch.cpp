#include <ekiden/pool/detail/watch.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/pool_threads.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/slow_tasks.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

watch::watch(scheduler& pool, pool_threads& threads, const thread_pool_options& options)
    : pool_(pool), threads_(threads), interval_(sys::bounded(options.watch_interval)),
      follow_interval_(sys::bounded(options.follow_interval)),
      next_follow_(sys::clock::now() + follow_interval_), slow_(std::make_unique<slow_tasks>(pool, options)),
      thread_(sys::start_thread("thread_pool", "its watch", [this, &options] {
          sys::set_thread_name(options.name, "watch");
          thread_record::here().owner = pool_.id();
          run();
      })) {}

watch::~watch() {
    word_.store(leaving, sys::relaxed);
    sys::futex_wake(word_);
    thread_.join();
}

void watch::wake() noexcept {
    // [EL3] Orders the change of the worker's word before the load of word_. Pairs with the fence in run().
    sys::fence(sys::seq_cst);
    std::uint32_t expected = asleep;
    if (word_.load(sys::relaxed) == asleep
        && word_.compare_exchange_strong(expected, checking, sys::relaxed, sys::relaxed))
        sys::futex_wake(word_);
}

void watch::run() noexcept {
    // If one thread is blocked, there are probably more blocked threads.
    const sys::clock::duration hurry =
        std::min<sys::clock::duration>(std::chrono::milliseconds(1), interval_);
    while (word_.load(sys::relaxed) != leaving) {
        sys::clock::duration pause = check() ? hurry : interval_;
        std::uint32_t word = checking;
        if (word_.compare_exchange_strong(word, asleep, sys::relaxed, sys::relaxed)) {
            // [EL3] Orders the store of `asleep` before the loads of the workers' words. Either the watch
            // sees that a worker is awake, or the worker sees that the watch sleeps.
            sys::fence(sys::seq_cst);
            if (threads_.is_quiet() && !slow_->has_unreported()) {
                while (word_.load(sys::relaxed) == asleep) sys::futex_wait(word_, asleep);
                pause = interval_;
            } else {
                word = asleep;
                (void)word_.compare_exchange_strong(word, checking, sys::relaxed, sys::relaxed);
            }
        }
        const auto next = sys::clock::now() + pause;
        while (word_.load(sys::relaxed) != leaving && sys::futex_wait_until(word_, checking, next)) {
        }
    }
}

bool watch::check() noexcept {
    const bool is_paused = (pool_.gate().load(sys::relaxed) & gate_bit::paused) != 0;
    // Tasks are queued, and there is no sleeping worker that could be woken for them.
    const bool is_starving = !is_paused && pool_.sleep().waiting() == 0 && pool_.has_work();
    starving_checks_ = is_starving ? starving_checks_ + 1 : 0;
    threads_.take_back();
    follow_processors();
    const bool has_hired = starving_checks_ > 1 && threads_.compensate();
    report_saturation(starving_checks_ > 1);
    slow_->check();
    return has_hired;
}

/// Reads the number of usable processors again, if it is time.
void watch::follow_processors() noexcept {
    if (follow_interval_ == sys::clock::duration::zero()) return;
    const auto now = sys::clock::now();
    if (now < next_follow_) return;
    next_follow_ = now + follow_interval_;
    try {
        threads_.follow();
    } catch (...) { // no memory: the next check tries again
    }
}

void watch::report_saturation(bool is_starving) noexcept {
    const bool is_saturated = is_starving && threads_.is_saturated();
    if (std::exchange(has_reported_, is_saturated) || !is_saturated) return;
    try {
        std::vector<unsigned> all(pool_.workers().size());
        std::iota(all.begin(), all.end(), 0U);
        pool_.report_stall(stall_report::reason::saturated, all);
    } catch (...) { // no memory for a report
    }
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/pool/detail/event_count.hpp>

#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>

namespace ekiden::inline EKIDEN_ABI {

event_count::event_count(unsigned workers, work_source source)
    : source_(source), workers_(workers), sleepers_(std::make_unique<sleeper[]>(workers)) {}

// ---- the poster

bool event_count::notify_sleepers() noexcept {
    for (;;) {
        // [EC2] Orders the publication of the work before the loads of state_ and of the words. Pairs with
        // the fences that follow the return of the token, in end_search() and in this loop. Either this
        // thread sees that the token is free, or the owner of the token sees the work. Also pairs with the
        // fence in prepare_wait().
        sys::fence(sys::seq_cst);
        std::uint32_t state = state_.load(sys::relaxed);
        if (state < one_waiting || (state & searching) != 0) return false;
        if (!state_.compare_exchange_strong(state, state | searching, sys::relaxed, sys::relaxed)) continue;
        if (wake_one(notified) || EKIDEN_MUTANT(sleep_notify_keeps_the_token))
            return true; // the sleeper has the token now
        // Each waiting worker is either about to sleep, and checks the queues before that, or is about to
        // wake up. Other posters may have relied on this thread while it had the token.
        state_.fetch_sub(searching, sys::relaxed);
        sys::fence(sys::seq_cst); // [EC2]
        if (!source_.has_work(source_.self)) return false;
        sys::yield(); // lets a worker run that is between the two steps of prepare_wait()
    }
}

bool event_count::wake_one(std::uint32_t how) noexcept {
    // Always tries the workers in the same order, so that few workers are used and their caches stay warm.
    for (unsigned w = 0; w != workers_; ++w) {
        if (!rouse(sleepers_[w], how)) continue;
        if (trace::is_on()) [[unlikely]]
            trace::detail::record(trace::kind::woken, w);
        return true;
    }
    return false;
}

bool event_count::rouse(sleeper& p, std::uint32_t how) noexcept {
    std::uint32_t expected = idle;
    if (p.word.load(sys::relaxed) != idle) return false;
    // [EC3] Release: publishes what this thread did before. Pairs with the acquires in commit_wait() and
    // cancel_wait(). [EC5] Acquire: sees that the sleeper was counted. Pairs with the release in
    // prepare_wait().
    if (!p.word.compare_exchange_strong(expected, how, sys::acq_rel, sys::relaxed)) return false;
    state_.fetch_sub(one_waiting, sys::relaxed);
    if (!EKIDEN_MUTANT(sleep_forgets_to_wake)) sys::futex_wake(p.word);
    return true;
}

void event_count::signal(unsigned w) noexcept {
    sys::fence(sys::seq_cst); // [EC4] Orders the event before the load of the word. Pairs with the fence in
                              // prepare_wait().
    (void)rouse(sleepers_[w], signalled);
}

void event_count::signal_all() noexcept {
    for (unsigned w = 0; w != workers_; ++w) signal(w);
}

unsigned event_count::signal_any(unsigned count) noexcept {
    unsigned woken = 0;
    while (woken != count && wake_one(EKIDEN_MUTANT(sleep_signal_gives_a_token) ? notified : signalled))
        ++woken;
    return woken;
}

// ---- the searcher

bool event_count::try_begin_search() noexcept {
    std::uint32_t state = state_.load(sys::relaxed);
    while ((state & searching) == 0) {
        // The exchange usually fails because the count has changed, so the loop tries again. At W4 of
        // sleep.md, this worker or another worker must have the token. A worker that has just woken up need
        // not check the queues, because it may have woken up for another reason than work.
        if (state_.compare_exchange_strong(state, state | searching, sys::relaxed, sys::relaxed)) return true;
        if (EKIDEN_MUTANT(sleep_leaves_the_token)) break;
    }
    return false;
}

void event_count::end_search() noexcept {
    const std::uint32_t before = state_.fetch_sub(searching, sys::relaxed);
    if (before < one_waiting) return;
    sys::fence(sys::seq_cst); // [EC2] Orders the return of the token before the check of the queues.
    if (source_.has_work(source_.self) && !EKIDEN_MUTANT(sleep_searcher_wakes_nobody))
        (void)notify_sleepers();
}

// ---- the sleeper

void event_count::prepare_wait(unsigned w, bool has_token) noexcept {
    const std::uint32_t waits = EKIDEN_MUTANT(sleep_waits_uncounted) ? 0 : one_waiting;
    const std::uint32_t before = state_.fetch_add(waits - (has_token ? searching : 0), sys::relaxed);
    // [EC5] Release: publishes the count. Pairs with the acquire in rouse().
    sleepers_[w].word.store(idle, sys::release);
    // [EC1], [EC2], [EC4] These fences order the two steps above before the caller's checks. Pairs with the
    // fences in notify(), notify_sleepers() and signal(). Only the first sleeper needs the heavy fence. After
    // that, while the count is not 0, there are two cases. A poster sees the count and executes a full fence,
    // or the work of the poster is visible to the first sleeper.
    if (before >= one_waiting || EKIDEN_MUTANT(sleep_first_is_unheard)) {
        sys::fence(sys::seq_cst);
    } else {
        sys::fence_heavy();
    }
}

event_count::wake_up event_count::commit_wait(unsigned w, const sys::clock::time_point* deadline) noexcept {
    constexpr std::chrono::milliseconds watch(10);
    if (deadline != nullptr || !begin_watch()) return sleep_until(w, deadline);
    const sys::clock::time_point end = sys::clock::now() + watch;
    const wake_up how = sleep_until(w, &end);
    end_watch(how);
    return how;
}

event_count::wake_up event_count::sleep_until(unsigned w, const sys::clock::time_point* deadline) noexcept {
    sys::atomic<std::uint32_t>& word = sleepers_[w].word;
    std::uint32_t now;
    while ((now = word.load(sys::acquire)) == idle) { // [EC3]
        if (deadline == nullptr) {
            sys::futex_wait(word, idle);
        } else if (!sys::futex_wait_until(word, idle, *deadline)) {
            const wake_up last = cancel_wait(w);
            return last == wake_up::notified ? last : wake_up::timed_out;
        }
    }
    word.store(awake, sys::relaxed);
    return now == notified ? wake_up::notified : wake_up::signalled;
}

bool event_count::begin_watch() noexcept {
    return is_watch_wanted_.load(sys::relaxed) && is_watch_wanted_.exchange(false, sys::relaxed)
           && !is_watched_.exchange(true, sys::relaxed);
}

/// Ends the watch of the watcher. The watcher may now run a long task, so the watcher wakes another worker
/// for the work that was published without a wake-up. If the watcher has the token, end_search() wakes the
/// other worker.
void event_count::end_watch(wake_up how) noexcept {
    is_watched_.store(false, sys::relaxed);
    // [AS4] Orders the end of the watch before the check of the queues. Pairs with the fence in
    // fork_participant::publish().
    sys::fence(sys::seq_cst); // [AS4]
    if (how != wake_up::notified && source_.has_work(source_.self)
        && !EKIDEN_MUTANT(sleep_watcher_leaves_silently))
        (void)notify_sleepers();
}

event_count::wake_up event_count::cancel_wait(unsigned w) noexcept {
    sys::atomic<std::uint32_t>& word = sleepers_[w].word;
    std::uint32_t now = idle;
    if (word.compare_exchange_strong(now, awake, sys::relaxed, sys::relaxed)) {
        state_.fetch_sub(one_waiting, sys::relaxed);
        return wake_up::signalled;
    }
    // [EC3] This is a separate load, because g++ warns about a compare-exchange whose failure order is
    // stronger than its success order.
    now = word.load(sys::acquire);
    word.store(awake, sys::relaxed);
    if (EKIDEN_MUTANT(sleep_cancel_loses_the_token)) return wake_up::signalled;
    return now == notified ? wake_up::notified : wake_up::signalled;
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/pool/detail/work_count.hpp>

#include <ekiden/execution/detail/limited_sleep.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread_number.hpp>

#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

sys::atomic<std::uint32_t>& work_count::word_of_this_thread() noexcept {
    return places_[sys::thread_number<work_count>() % most_places].word;
}

void work_count::started() noexcept {
    // Relaxed is enough, because the end of the work is ordered after its start.
    if ((word_of_this_thread().fetch_add(one_here, sys::relaxed) & closed) != 0) [[unlikely]]
        started_late();
}

void work_count::finished() noexcept {
    // [OW2] Release: publishes what the work has done, and that it was counted. Pairs with the acquire in
    // gather(). If the place is open, the count may be destroyed after this step.
    if ((word_of_this_thread().fetch_sub(one_here, sys::release) & closed) != 0) [[unlikely]]
        finished_late();
}

/// The place of the thread is closed, so nothing reads its count any more.
void work_count::started_late() noexcept {
    // [OW1] Relaxed is enough, because try_end() changes the same word. If this step happens before that
    // change, the change sees it.
    std::uint32_t now = outstanding_.load(sys::relaxed);
    while (!outstanding_.compare_exchange_weak(now, (now + one) | begun, sys::relaxed, sys::relaxed)) {
    }
}

bool work_count::started_beside_other() noexcept {
    std::uint32_t now = outstanding_.load(sys::relaxed); // [OW1] as in started_late()
    do
        if (now < one || ((now & over) != 0 && !EKIDEN_MUTANT(work_begins_after_the_end))) return false;
    while (!outstanding_.compare_exchange_weak(now, (now + one) | begun, sys::relaxed, sys::relaxed));
    return true;
}

bool work_count::try_end() noexcept {
    std::uint32_t now = outstanding_.load(sys::relaxed); // [OW1] as in started_late()
    while (now < one && ((now & begun) == 0 || EKIDEN_MUTANT(pool_join_forgets_late_work))) {
        if (outstanding_.compare_exchange_weak(now, now | over, sys::relaxed, sys::relaxed)) return true;
    }
    return false;
}

void work_count::finished_late() noexcept {
    // [OW2] Release: publishes what the work has done. Pairs with the acquires in wait(). After this step the
    // count may be destroyed, so only the address of the word is used.
    const std::uint32_t before = outstanding_.fetch_sub(one, sys::release);
    if (before / one == 1 && (before & awaited) != 0 && !EKIDEN_MUTANT(pool_work_ends_in_silence))
        sys::futex_wake_all(outstanding_);
}

void work_count::gather() noexcept {
    const std::lock_guard guard(gathering_);
    if (is_gathered_) return;
    is_gathered_ = true;
    std::uint32_t sum = 0;
    for (place& each : places_) {
        // [OW2] Acquire: sees what the work of this place has done, and the starts of work that has ended
        // here. Pairs with the release in finished(). A thread changes the word before this step, and is
        // counted in the sum. Or it changes the word after this step, and then changes outstanding_.
        sum += each.word.fetch_or(closed, sys::acquire) / one_here;
    }
    outstanding_.fetch_add(sum * one, sys::relaxed); // happens before wait()
}

bool work_count::wait(const wait_limit& limit) noexcept {
    const limited_sleep asleep(limit, [this]() noexcept {
        // [LS1] Release: publishes the stop request. Pairs with the acquires below. This step clears the bit
        // that the sleeping thread has set.
        if (!EKIDEN_MUTANT(pool_stop_request_keeps_the_bit)) outstanding_.fetch_and(~awaited, sys::release);
        sys::futex_wake_all(outstanding_);
    });
    // [OW2] Acquire: sees what the work has done, such as its posts. Pairs with the release in
    // finished_late().
    std::uint32_t now = outstanding_.fetch_and(~begun, sys::acquire) & ~begun;
    bool is_over = false;
    while (now >= one && (now & in_vain) == 0) {
        // [LS1] Acquire: sees the stop request.
        if ((now & awaited) != 0
            || outstanding_.compare_exchange_strong(now, now | awaited, sys::acquire, sys::relaxed)) {
            is_over = asleep.is_over();
            if (is_over) break;
            asleep.sleep(outstanding_, now | awaited);
        }
        now = outstanding_.load(sys::acquire); // [OW2]
    }
    outstanding_.fetch_and(~awaited, sys::relaxed);
    return !is_over;
}

void work_count::give_up() noexcept {
    // Changes the word itself, so that a thread that is about to sleep on the word does not sleep. Relaxed is
    // enough, because the end of a wait in vain tells that thread nothing.
    outstanding_.fetch_or(in_vain, sys::relaxed);
    sys::futex_wake_all(outstanding_);
}

} // namespace ekiden::inline EKIDEN_ABI

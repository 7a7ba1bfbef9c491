/// The count of the threads outside of a pool that are posting to strands and lanes on the pool.
///
/// Part: pool. Used by: pool_entrance. Private.
#pragma once

#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_number.hpp>

#include <array>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Counts posts, in places like those of work_count. Thread-safe.
///
/// A thread calls begun() and then reads the gate of the pool. Another thread closes the gate and then
/// calls await(). All these steps are seq_cst [PC1]. So the posting thread sees the closed gate, or await()
/// waits for this thread.
class post_count {
public:
    void begun() noexcept { word_of_this_thread().fetch_add(1, sys::seq_cst); } // [PC1]
    /// The count may be destroyed before the call returns.
    void ended() noexcept {
        // [PC2] Release: publishes the tasks that were given to the pool. Pairs with the acquire in
        // await().
        word_of_this_thread().fetch_sub(1, sys::release);
    }
    /// Waits until each post that has called begun() before has called ended(). A post is seen if it happens
    /// before the call. If `is_here` is true, the calling thread itself is in a post, for which it does not
    /// wait. Posts are short, so this thread only yields its processor. Returns false if the limit is reached
    /// first.
    [[nodiscard]] bool await(bool is_here, const wait_limit& limit) noexcept {
        const sys::atomic<std::uint32_t>* const mine = is_here ? &word_of_this_thread() : nullptr;
        for (place& each : places_) {
            // [PC1] seq_cst. [PC2] Acquire.
            while (each.word.load(sys::seq_cst) != (&each.word == mine ? 1U : 0U)) {
                if (limit.is_reached()) return false;
                sys::yield();
            }
        }
        return true;
    }

private:
    struct alignas(sys::isolation) place {
        sys::atomic<std::uint32_t> word{0};
    };
    static constexpr unsigned most_places = 32;

    [[nodiscard]] sys::atomic<std::uint32_t>& word_of_this_thread() noexcept {
        return places_[sys::thread_number<post_count>() % most_places].word;
    }

    std::array<place, most_places> places_;
};

} // namespace ekiden::inline EKIDEN_ABI

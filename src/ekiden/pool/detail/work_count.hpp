/// The count of the outstanding work of a pool.
///
/// Part: pool. Used by: scheduler. Private.
///
/// The algorithm is that of percpu_ref in Linux (Kent Overstreet, 2013). Until join() needs the exact count,
/// each thread counts in a place of its own. So timers and coroutines on many cores do not contend for the
/// count. join() then closes the places and adds their counts to one word. From then on, all threads change
/// this word.
#pragma once

#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Counts the pieces of work that have begun and have not ended. At most 2^28 - 1 pieces may be outstanding
/// at a time. Thread-safe.
class work_count {
public:
    work_count() noexcept = default;
    work_count(const work_count&) = delete;
    work_count& operator=(const work_count&) = delete;

    /// Counts a piece of work that begins.
    void started() noexcept;
    /// Counts a piece of work that has ended. The count may be destroyed before the call returns.
    void finished() noexcept;

    /// Adds up the counts of all places. A call of gather() must happen before each call of the next four
    /// functions. Further calls have no effect.
    void gather() noexcept;

    /// Counts a piece of work that begins, if other work is outstanding and try_end() has not returned true.
    /// Returns whether the piece was counted.
    [[nodiscard]] bool started_beside_other() noexcept;
    /// Waits until no work is outstanding, or give_up() is called. Returns false if the limit is reached
    /// first. Only one thread at a time may call wait() and try_end().
    [[nodiscard]] bool wait(const wait_limit& limit) noexcept;
    /// Called after wait(). Ends the count, if no work is outstanding and none has begun since the last call
    /// of wait() began. Returns whether the count has ended. Afterwards started_beside_other() returns false.
    [[nodiscard]] bool try_end() noexcept;
    /// Ends wait(), and all later calls of wait().
    void give_up() noexcept;

private:
    /// The work that the threads of one place have begun, less the work that they have ended. Bit 0 is set
    /// when the place is closed. The count is in the other bits, and wraps around.
    struct alignas(sys::isolation) place {
        sys::atomic<std::uint32_t> word{0};
    };
    static constexpr std::uint32_t closed = 1;
    static constexpr std::uint32_t one_here = 2;
    static constexpr unsigned most_places = 32;

    // The low bits of outstanding_. The other bits contain the number of pieces, and wrap around. Before
    // gather() has added the counts of the places, this number may be too low or too high.
    //  * awaited: a thread sleeps until no work is outstanding.
    //  * in_vain: all waits end.
    //  * begun: a piece has begun since the last call of wait() began.
    //  * over: try_end() has ended the count.
    static constexpr std::uint32_t awaited = 1;
    static constexpr std::uint32_t in_vain = 2;
    static constexpr std::uint32_t begun = 4;
    static constexpr std::uint32_t over = 8;
    static constexpr std::uint32_t one = 16;

    [[nodiscard]] sys::atomic<std::uint32_t>& word_of_this_thread() noexcept;
    void started_late() noexcept;
    void finished_late() noexcept;

    std::array<place, most_places> places_;
    sys::atomic<std::uint32_t> outstanding_{0};
    sys::slow_lock gathering_;
    bool is_gathered_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

/// The right of one consumer to take the next tasks of a producer's ring, oldest first, until others want
/// them.
///
/// Part: queue. Used by: injection_ring, injection_queue, pool (one per worker).
///
/// The idea is that of biased locks: a holder that is alone announces each task that it takes with a plain
/// store and a compiler barrier. The first thief ends this, once a lease, and pays for it with a heavy fence;
/// from then on everybody, the holder too, takes with a compare-exchange of one word. The tasks stay in the
/// ring, in the sight of all, until each is taken.
///
/// The word of a lease:
///
///     bits    meaning
///     0-1     state, see below
///     2-8     left: tasks from the oldest to the end, while shared
///     9-15    base: what was left when the lease became shared
///     16      unused
///     17-22   number of the ring
///     23-63   end: the index behind the last task, modulo 2^41
///
///     state      meaning                          left by
///     nothing    there has been no lease yet      the holder
///     exclusive  the holder takes, and says in    a thief, to asked; one that sees that all is claimed,
///                claimed_ how far it is           to shared with nothing left
///     asked      a thief wants to know how far    the thief, another one, or the holder in its place: to
///                it is                            shared
///     shared     a task goes to the thread that   the holder, when nothing is left: to the next lease
///                lowers `left`
///
/// Every step out of a state that others may leave is a compare-exchange. Ring and end together name a lease:
/// a ring leases each index once (in 2^41 tasks), so one that comes late fails. Nobody waits for a thread
/// that was preempted between two steps.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Indices of a ring run on and wrap around; a word holds the low bits.
namespace ring_index {
inline constexpr unsigned bits = 41;
inline constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;

/// How far `to` lies behind `from`; it does not lie before.
[[nodiscard]] constexpr std::uint64_t distance(std::uint64_t from, std::uint64_t to) noexcept {
    return (to - from) & mask;
}
} // namespace ring_index

/// Starts with nothing to take. One thread at a time is the holder.
class alignas(sys::isolation) ring_lease {
public:
    using slots = circular_array<task>::slots;

    static constexpr std::uint64_t longest = 64; ///< tasks of a lease
    static constexpr unsigned most_rings = 64;

    /// Which lease of which ring.
    class key {
    public:
        key(unsigned ring, std::uint64_t end) noexcept
            : bits_((end & ring_index::mask) << end_shift | std::uint64_t{ring} << ring_shift) {}

    private:
        friend class ring_lease;
        std::uint64_t bits_;
    };

    /// Holder, when nothing is left: prepares the lease of the `count` tasks before `which`'s end, in
    /// `where`. Others learn of it from the ring only; cancel() if they do not.
    void begin(key which, std::uint64_t count, slots* where) noexcept;
    void cancel() noexcept { next_ = end_; }

    /// Holder: takes the oldest task, or null if nothing is left.
    [[nodiscard]] task* take() noexcept {
        if (next_ == end_) [[unlikely]]
            return is_shared_ ? take_shared(key_, *slots_) : nullptr;
        task* const oldest = copies_[next_ % longest];
        const std::uint64_t after = (next_ + 1) & ring_index::mask;
        // [RL2] release: what this thread did before the take, for those that take next; pairs with the
        // acquires in is_used_up() and share().
        claimed_.store(after, sys::release);
        // [RL1] light: the claim before the look at the word; pairs with the heavy fence in share(). Either
        // the thief counts the claim, or this sees that the lease is no longer exclusive.
        sys::fence_light();
        if (word_.load(sys::relaxed) != exclusive_word_ && !EKIDEN_MUTANT(lease_holder_never_looks))
            [[unlikely]]
            return settle(oldest);
        next_ = after;
        return oldest;
    }

    /// Holder, when nothing is left: whether others had a share in its last lease; says so once.
    [[nodiscard]] bool was_shared() noexcept { return std::exchange(is_shared_, false); }

    /// Any thread but the holder: ends that the holder takes alone. False if that lease is over. Costs a
    /// heavy fence the first time.
    [[nodiscard]] bool share(key which) noexcept;

    /// Any thread, once the lease is shared: takes the oldest task, or null if nothing is left.
    [[nodiscard]] task* take_shared(key which, slots& where) noexcept;

    /// Any thread but the holder: whether each task of that lease has been taken. Then its slots have been
    /// read.
    [[nodiscard]] bool is_used_up(key which) noexcept;

    /// Any thread that has acquired the ring's word: how many tasks of that lease were left a moment ago.
    [[nodiscard]] std::uint64_t left(key which) const noexcept;

    /// Any thread: whether somebody has ended already that the holder of that lease takes alone. A hint.
    [[nodiscard]] bool is_shared(key which) const noexcept {
        return (word_.load(sys::relaxed) & (key_mask | state_mask)) == (which.bits_ | shared);
    }

private:
    enum state : std::uint64_t { nothing, exclusive, asked, shared };
    static constexpr std::uint64_t state_mask = 3;
    static constexpr unsigned left_shift = 2;
    static constexpr unsigned base_shift = 9;
    static constexpr unsigned ring_shift = 17;
    static constexpr unsigned end_shift = 64 - ring_index::bits;
    static constexpr std::uint64_t count_mask = 127;
    static constexpr std::uint64_t key_mask = ~((std::uint64_t{1} << ring_shift) - 1);

    [[nodiscard]] static std::uint64_t shared_word(std::uint64_t key_bits, std::uint64_t left) noexcept {
        return key_bits | left << base_shift | left << left_shift | shared;
    }
    [[nodiscard]] static std::uint64_t left_in(std::uint64_t word) noexcept {
        return word >> left_shift & count_mask;
    }

    [[nodiscard, gnu::noinline]] task* settle(task* oldest) noexcept;

    sys::atomic<std::uint64_t> word_{nothing};
    sys::atomic<std::uint64_t> claimed_{0}; // index behind the holder's last claim, while exclusive
    // The rest: the holder's.
    std::uint64_t next_ = 0; // index of the oldest task while exclusive; else end_
    std::uint64_t end_ = 0;
    std::uint64_t exclusive_word_ = nothing;
    slots* slots_ = nullptr;
    key key_{0, 0};
    bool is_shared_ = false;
    // What the slots held when the lease began: their lines may be those that the producer writes.
    std::array<task*, longest> copies_{};
};

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/queue/ring_lease.hpp>

namespace ekiden::inline EKIDEN_ABI {

// ---- the holder

void ring_lease::begin(key which, std::uint64_t count, slots* where) noexcept {
    // The last lease is over for late thieves too, before claimed_ speaks of the next one. An exchange: a
    // store could still be on its way when a thief succeeds with an older word. [RL3] release: each of its
    // tasks has been taken, and its slot read; pairs with the acquire in is_used_up(). acquire: the looks of
    // others at claimed_ before the store below; pairs with the releases in share() and is_used_up().
    const std::uint64_t over = shared_word(key_.bits_, 0);
    if (EKIDEN_MUTANT(lease_ends_with_a_store))
        word_.store(over, sys::release);
    else if (!EKIDEN_MUTANT(lease_does_not_end))
        (void)word_.exchange(over, sys::acq_rel);
    key_ = which;
    end_ = which.bits_ >> end_shift;
    next_ = (end_ - count) & ring_index::mask;
    exclusive_word_ = which.bits_ | exclusive;
    slots_ = where;
    is_shared_ = false;
    for (std::uint64_t i = next_; i != end_; i = (i + 1) & ring_index::mask)
        copies_[i % longest] = where->at(i).load(sys::relaxed);
    claimed_.store(next_, sys::relaxed); // visible to whoever has learnt of the lease from the ring
    // [RL3] release, as above: this too says that the last lease is over.
    word_.store(exclusive_word_, sys::release);
}

/// The lease is no longer exclusive: was the claim of `oldest` counted?
task* ring_lease::settle(task* oldest) noexcept {
    const std::uint64_t left_before = ring_index::distance(next_, end_);
    next_ = end_;
    is_shared_ = true;
    // relaxed, as the exchange below: if the claim was counted, others have taken only what is behind it; if
    // not, take_shared() acquires.
    std::uint64_t word = word_.load(sys::relaxed);
    // The thief has not counted yet, and may not run: this gives its claim up in the thief's place. [RL4]
    // release: the takes before, for those that take next.
    if (word == (key_.bits_ | asked)
        && word_.compare_exchange_strong(word, shared_word(key_.bits_, left_before), sys::release,
                                         sys::relaxed))
        return take_shared(key_, *slots_);
    const std::uint64_t base = word >> base_shift & count_mask;
    if (base != left_before || EKIDEN_MUTANT(lease_holder_keeps_its_claim)) return oldest;
    return take_shared(key_, *slots_);
}

// ---- the others

bool ring_lease::share(key which) noexcept {
    // relaxed, as what the exchanges read: take_shared() acquires the takes of others.
    std::uint64_t word = word_.load(sys::relaxed);
    for (;;) {
        if ((word & key_mask) != which.bits_) return false;
        switch (word & state_mask) {
        case exclusive:
            // [RL3] release: the look of left() at claimed_; pairs with the acquire in begin().
            if (word_.compare_exchange_strong(word, which.bits_ | asked, sys::release, sys::relaxed))
                word = which.bits_ | asked;
            break;
        case asked: {
            // [RL1] heavy: `asked` before the look at the claims; pairs with the light fence in take(). Also
            // for one that another thief has written: this may be the one that answers it.
            if (!EKIDEN_MUTANT(lease_shares_without_fence)) sys::fence_heavy();
            // [RL2] acquire. If the holder has gone on, this is some other number, and the exchange fails.
            // [RL4] release: the holder's takes that this has counted, for those that take next.
            const std::uint64_t claimed = claimed_.load(sys::acquire);
            const std::uint64_t rest = ring_index::distance(claimed, which.bits_ >> end_shift) & count_mask;
            const std::uint64_t next = shared_word(which.bits_, rest);
            if (word_.compare_exchange_strong(word, next, sys::release, sys::relaxed)) return true;
            break;
        }
        default:
            return true;
        }
    }
}

task* ring_lease::take_shared(key which, slots& where) noexcept {
    std::uint64_t word = word_.load(sys::acquire); // [RL4]
    while ((word & key_mask) == which.bits_ && left_in(word) != 0) {
        const std::uint64_t index = ((which.bits_ >> end_shift) - left_in(word)) & ring_index::mask;
        // The slot may be overwritten while it is read; then the word has changed and the exchange fails.
        task* const oldest = where.at(index).load(sys::relaxed);
        const std::uint64_t next = word - (std::uint64_t{1} << left_shift);
        // [RL4] release: the read of the slot before its reuse, and what was taken before; pairs with the
        // acquires of word_, here and in is_used_up(). What success would acquire, the look before has: a
        // word comes once.
        if (word_.compare_exchange_strong(word, next, sys::release, sys::acquire)
            || EKIDEN_MUTANT(lease_take_ignores_others))
            return oldest;
    }
    return nullptr;
}

bool ring_lease::is_used_up(key which) noexcept {
    std::uint64_t word = word_.load(sys::acquire); // [RL3] [RL4]
    if ((word & key_mask) != which.bits_) return true;
    if ((word & state_mask) == shared) return left_in(word) == 0;
    if ((word & state_mask) != exclusive) return false;
    if (claimed_.load(sys::acquire) != which.bits_ >> end_shift) return false; // [RL2]
    // The holder has claimed the last task, but may not have looked: a thief that has not seen the claim
    // could still make it void. So this counts it. [RL4] release: the holder's takes.
    if (EKIDEN_MUTANT(lease_end_is_not_settled)) return true;
    return word_.compare_exchange_strong(word, shared_word(which.bits_, 0), sys::release, sys::relaxed);
}

std::uint64_t ring_lease::left(key which) const noexcept {
    const std::uint64_t word = word_.load(sys::relaxed);
    if ((word & key_mask) != which.bits_) return 0;
    if ((word & state_mask) == shared) return left_in(word);
    return ring_index::distance(claimed_.load(sys::relaxed), which.bits_ >> end_shift) & count_mask;
}

} // namespace ekiden::inline EKIDEN_ABI

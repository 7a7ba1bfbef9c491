/// The locks of the source, which are built on abstract states, here on our state_lock. They are its rows 3
/// (release and acquire again), 3b (hand-over) and 4 (one call that enters and exits). A ' means that the
/// writer holds the inner lock.
///
/// Used by: rwlock, barrier, elastic-barrier.
#pragma once

#include <lab/peers/row.hpp>

#include <ekiden/sync/detail/state_lock.hpp>

namespace lab::peers {

constexpr ekiden::state_lock::mask bit(std::uint32_t state) { return ekiden::state_lock::mask{1} << state; }

constexpr const ekiden::state_rules& rules_of(bool hands_over) {
    return hands_over ? ekiden::state_lock::strict : ekiden::state_lock::overtaking;
}

template <bool HandsOver, bool HoldsLock>
class source_rw {
public:
    static constexpr peers::row row =
        HandsOver ? (HoldsLock ? peers::row{"source-3b-holding", "3b' hand-over, lock-holding", 33}
                               : peers::row{"source-3b", "3b states, hand-over", 32})
                  : (HoldsLock ? peers::row{"source-3-holding", "3' states, lock-holding", 31}
                               : peers::row{"source-3", "3 states", 30});

    void lock_shared() {
        lock_.enter(bit(free) | bit(read));
        ++readers_;
        lock_.exit(reading());
    }
    void unlock_shared() {
        lock_.enter(bit(read) | bit(to_write));
        --readers_;
        lock_.exit(readers_ > 0 ? reading() : idle());
    }
    void lock() {
        lock_.enter(ekiden::state_lock::any_state);
        if (readers_ > 0 || writing_) {
            ++waiting_;
            lock_.exit(writing_ ? write : to_write);
            lock_.enter(bit(free) | bit(writer_only));
            --waiting_;
        }
        if (HoldsLock) return;
        writing_ = true;
        lock_.exit(write);
    }
    void unlock() {
        if (!HoldsLock) {
            lock_.enter(bit(write));
            writing_ = false;
        }
        lock_.exit(idle());
    }

private:
    enum : std::uint32_t { free, read, write, to_write, writer_only };

    std::uint32_t reading() const { return waiting_ > 0 ? to_write : read; }
    std::uint32_t idle() const { return waiting_ > 0 ? writer_only : free; }

    ekiden::state_lock lock_{{free, 0}, rules_of(HandsOver)};
    unsigned readers_ = 0;
    unsigned waiting_ = 0;
    bool writing_ = false;
};

/// Two locks. One guards the count. The states of the other are the even and the odd rounds.
template <bool HandsOver, bool Passes>
class source_barrier {
public:
    static constexpr peers::row row = Passes      ? peers::row{"source-4", "4 states, enter-exit in one", 34}
                                      : HandsOver ? peers::row{"source-3b", "3b states, hand-over", 32}
                                                  : peers::row{"source-3", "3 states", 30};

    explicit source_barrier(unsigned size) : size_(size) {}
    void arrive_and_wait() {
        count_lock_.enter(1);
        const std::uint32_t now = round_;
        const bool last = ++count_ == size_;
        if (last) {
            count_ = 0;
            round_ = 1 - now;
        }
        count_lock_.exit(0U);
        if (last) {
            round_lock_.enter(bit(now));
            round_lock_.exit(1 - now);
        } else if (Passes) {
            round_lock_.pass(bit(1 - now));
        } else {
            round_lock_.enter(bit(1 - now));
            round_lock_.exit(1 - now);
        }
    }

private:
    ekiden::state_lock count_lock_{{0, 0}, rules_of(HandsOver)};
    ekiden::state_lock round_lock_{{0, 0}, rules_of(HandsOver)};
    const unsigned size_;
    unsigned count_ = 0;
    std::uint32_t round_ = 0;
};

/// Two locks that are open in turn, each with its own count.
class source_elastic_barrier {
public:
    static constexpr peers::row row{"source-elastic", "two locks, as in the source", 30};

    explicit source_elastic_barrier(unsigned size) : size_(size) {}
    void enter() { step(in_, in_count_, out_); }
    void leave() { step(out_, out_count_, in_); }

private:
    enum : std::uint32_t { open, closed };

    void step(ekiden::state_lock& mine, unsigned& count, ekiden::state_lock& other) {
        mine.enter(bit(open));
        if (++count < size_) {
            mine.exit(open);
            return;
        }
        count = 0;
        mine.exit(closed);
        other.enter(bit(closed));
        other.exit(open);
    }

    ekiden::state_lock in_{{open, 0}};
    ekiden::state_lock out_{{closed, 0}};
    const unsigned size_;
    unsigned in_count_ = 0;
    unsigned out_count_ = 0;
};

} // namespace lab::peers

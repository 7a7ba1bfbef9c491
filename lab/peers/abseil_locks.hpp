/// Abseil's mutex. It is also a read-write lock, and it can wait for conditions.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/condition_locks.hpp>
#include <lab/peers/row.hpp>

#include <absl/synchronization/mutex.h>

namespace lab::peers {

class abseil_lock {
public:
    static constexpr peers::row row{"abseil", "absl::Mutex", 16};

    void lock() { mutex_.Lock(); }
    void unlock() { mutex_.Unlock(); }
    void lock_shared() { mutex_.ReaderLock(); }
    void unlock_shared() { mutex_.ReaderUnlock(); }

private:
    absl::Mutex mutex_;
};

class abseil_buffer {
public:
    static constexpr peers::row row{"abseil", "absl::Mutex with conditions", 16};

    explicit abseil_buffer(std::size_t capacity) : ring_(capacity) {}
    void push(long item) {
        mutex_.LockWhen(absl::Condition(+[](long_ring* ring) { return !ring->full(); }, &ring_));
        ring_.put(item);
        mutex_.Unlock();
    }
    long pop() {
        mutex_.LockWhen(absl::Condition(+[](long_ring* ring) { return !ring->empty(); }, &ring_));
        const long item = ring_.take();
        mutex_.Unlock();
        return item;
    }

private:
    absl::Mutex mutex_;
    long_ring ring_;
};

} // namespace lab::peers

/// Locks that use a mutex and condition variables, as users write them without a better building block. Rows
/// 2 and 2' of the source define the logic where they have it.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/row.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <semaphore>
#include <vector>

namespace lab::peers {

/// Writers first. With HoldsLock, a writer holds the mutex while it writes.
template <bool HoldsLock>
class condition_rw {
public:
    static constexpr peers::row row =
        HoldsLock ? peers::row{"condition-rw-holding", "2' conditions, lock-holding", 13}
                  : peers::row{"condition-rw", "2 mutex and conditions", 12};

    void lock_shared() {
        std::unique_lock lock(mutex_);
        may_read_.wait(lock, [&] { return !writing_ && writers_waiting_ == 0; });
        ++readers_;
    }
    void unlock_shared() {
        const std::lock_guard lock(mutex_);
        if (--readers_ == 0 && writers_waiting_ > 0) may_write_.notify_one();
    }
    void lock() {
        std::unique_lock lock(mutex_);
        ++writers_waiting_;
        may_write_.wait(lock, [&] { return !writing_ && readers_ == 0; });
        --writers_waiting_;
        if (HoldsLock)
            (void)lock.release();
        else
            writing_ = true;
    }
    void unlock() {
        if (!HoldsLock) mutex_.lock();
        const std::lock_guard lock(mutex_, std::adopt_lock);
        writing_ = false;
        if (writers_waiting_ > 0)
            may_write_.notify_one();
        else
            may_read_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable may_read_;
    std::condition_variable may_write_;
    unsigned readers_ = 0;
    unsigned writers_waiting_ = 0;
    bool writing_ = false;
};

class condition_barrier {
public:
    static constexpr peers::row row{"condition-barrier", "2 mutex and condition", 12};

    explicit condition_barrier(unsigned size) : size_(size) {}
    void arrive_and_wait() {
        std::unique_lock lock(mutex_);
        const std::size_t round = round_;
        if (++arrived_ < size_) {
            changed_.wait(lock, [&] { return round != round_; });
            return;
        }
        arrived_ = 0;
        ++round_;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    const unsigned size_;
    unsigned arrived_ = 0;
    std::size_t round_ = 0;
};

class condition_elastic_barrier {
public:
    static constexpr peers::row row{"condition-elastic", "mutex and conditions", 12};

    explicit condition_elastic_barrier(unsigned size) : size_(size) {}
    void enter() { step(true, may_enter_, may_leave_); }
    void leave() { step(false, may_leave_, may_enter_); }

private:
    void step(bool entering, std::condition_variable& mine, std::condition_variable& others) {
        std::unique_lock lock(mutex_);
        mine.wait(lock, [&] { return entering_ == entering; });
        if (++count_ < size_) return;
        count_ = 0;
        entering_ = !entering;
        others.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable may_enter_;
    std::condition_variable may_leave_;
    const unsigned size_;
    unsigned count_ = 0;
    bool entering_ = true;
};

class condition_semaphore {
public:
    static constexpr peers::row row{"condition-semaphore", "mutex and condition", 12};

    explicit condition_semaphore(int permits) : permits_(permits) {}
    void acquire() {
        std::unique_lock lock(mutex_);
        some_.wait(lock, [&] { return permits_ > 0; });
        --permits_;
    }
    void release() {
        {
            const std::lock_guard lock(mutex_);
            ++permits_;
        }
        some_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable some_;
    int permits_;
};

/// A ring of longs, for one thread at a time.
class long_ring {
public:
    explicit long_ring(std::size_t capacity) : items_(capacity) {}
    [[nodiscard]] bool full() const { return size_ == items_.size(); }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    void put(long item) { items_[(first_ + size_++) % items_.size()] = item; }
    long take() {
        const long item = items_[first_];
        first_ = (first_ + 1) % items_.size();
        --size_;
        return item;
    }

private:
    std::vector<long> items_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

class condition_buffer {
public:
    static constexpr peers::row row{"condition-buffer", "mutex and conditions", 12};

    explicit condition_buffer(std::size_t capacity) : ring_(capacity) {}
    void push(long item) {
        {
            std::unique_lock lock(mutex_);
            room_.wait(lock, [&] { return !ring_.full(); });
            ring_.put(item);
        }
        item_.notify_one();
    }
    long pop() {
        std::unique_lock lock(mutex_);
        item_.wait(lock, [&] { return !ring_.empty(); });
        const long item = ring_.take();
        lock.unlock();
        room_.notify_one();
        return item;
    }

private:
    std::mutex mutex_;
    std::condition_variable room_;
    std::condition_variable item_;
    long_ring ring_;
};

/// Producers that have found `high` items wait until at most `low` are left.
class condition_watermark_buffer {
public:
    condition_watermark_buffer(std::size_t low, std::size_t high) : low_(low), ring_(high) {}
    void push(long item) {
        {
            std::unique_lock lock(mutex_);
            drained_.wait(lock, [&] { return !draining_; });
            ring_.put(item);
            draining_ = ring_.full();
        }
        item_.notify_one();
    }
    long pop() {
        std::unique_lock lock(mutex_);
        item_.wait(lock, [&] { return !ring_.empty(); });
        const long item = ring_.take();
        const bool drained = draining_ && ring_.size() <= low_;
        if (drained) draining_ = false;
        lock.unlock();
        if (drained) drained_.notify_all();
        return item;
    }

private:
    std::mutex mutex_;
    std::condition_variable drained_;
    std::condition_variable item_;
    const std::size_t low_;
    long_ring ring_;
    bool draining_ = false;
};

class semaphore_buffer {
public:
    static constexpr peers::row row{"semaphore-buffer", "two semaphores and a mutex", 10};

    explicit semaphore_buffer(std::size_t capacity)
        : room_(static_cast<std::ptrdiff_t>(capacity)), ring_(capacity) {}
    void push(long item) {
        room_.acquire();
        {
            const std::lock_guard lock(mutex_);
            ring_.put(item);
        }
        items_.release();
    }
    long pop() {
        items_.acquire();
        long item = 0;
        {
            const std::lock_guard lock(mutex_);
            item = ring_.take();
        }
        room_.release();
        return item;
    }

private:
    std::counting_semaphore<> room_;
    std::counting_semaphore<> items_{0};
    std::mutex mutex_;
    long_ring ring_;
};

} // namespace lab::peers

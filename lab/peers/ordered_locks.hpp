/// Mutexes that are acquired in order of arrival: a ticket lock, the lock of Mellor-Crummey and Scott with
/// sleeping, and the chain of events from the source on request order.
///
/// Used by: lock-order, mutex, request-order. lock_numbered() is like in ekiden::fifo_mutex: the number is
/// assigned together with the place in the queue.
#pragma once

#include <lab/peers/row.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace lab::peers {

class ticket_lock {
public:
    static constexpr peers::row row{"ticket", "ticket lock, yielding", 21};

    void lock() { (void)lock_numbered(); }
    std::uint32_t lock_numbered() {
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
        while (serving_.load(std::memory_order_acquire) != mine) std::this_thread::yield();
        return mine;
    }
    void unlock() { serving_.fetch_add(1, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> next_{0};
    std::atomic<std::uint32_t> serving_{0};
};

/// The queue lock of Mellor-Crummey and Scott (1991). A waiter polls a few times, then sleeps on its own
/// word.
class mcs_lock {
public:
    static constexpr peers::row row{"mcs", "MCS lock with futex", 20};

    void lock() {
        node& mine = own();
        mine.next.store(nullptr, std::memory_order_relaxed);
        mine.granted.store(0, std::memory_order_relaxed);
        node* const before = last_.exchange(&mine, std::memory_order_acq_rel);
        if (before == nullptr) return;
        before->next.store(&mine, std::memory_order_release);
        for (int i = 0; i < 100; ++i) {
            if (mine.granted.load(std::memory_order_acquire) != 0) return;
        }
        mine.granted.wait(0, std::memory_order_acquire);
    }
    void unlock() {
        node& mine = own();
        node* next = mine.next.load(std::memory_order_acquire);
        if (next == nullptr) {
            node* expected = &mine;
            if (last_.compare_exchange_strong(expected, nullptr, std::memory_order_release)) return;
            while ((next = mine.next.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
        }
        next->granted.store(1, std::memory_order_release);
        next->granted.notify_one();
    }

private:
    struct alignas(64) node {
        std::atomic<node*> next{nullptr};
        std::atomic<int> granted{0};
    };
    // There is one per thread, because a thread holds at most one such lock at a time. It outlives the
    // notification of a thread that has already continued.
    static node& own() {
        static thread_local node mine;
        return mine;
    }

    std::atomic<node*> last_{nullptr};
};

/// Each owner signals the event of the next thread.
class chained_events {
public:
    static constexpr peers::row row{"chained-events", "chain of events", 22};

    void lock() { (void)lock_numbered(); }
    std::uint32_t lock_numbered() {
        std::unique_lock lock(mutex_);
        const std::uint32_t number = next_++;
        const bool free = waiting_.empty();
        event mine;
        waiting_.push_back(&mine);
        longest_ = std::max(longest_, waiting_.size() - 1);
        if (!free) mine.changed.wait(lock, [&] { return mine.set; });
        waiting_.front() = nullptr; // the place of the owner, whose event has been destroyed
        return number;
    }
    void unlock() {
        const std::lock_guard lock(mutex_);
        waiting_.pop_front();
        if (waiting_.empty()) return;
        waiting_.front()->set = true;
        waiting_.front()->changed.notify_one();
    }
    /// The caller must hold the lock.
    [[nodiscard]] std::size_t longest_queue() const { return longest_; }

private:
    struct event {
        std::condition_variable changed;
        bool set = false;
    };

    std::mutex mutex_;
    std::deque<event*> waiting_;
    std::size_t longest_ = 0;
    std::uint32_t next_ = 0;
};

} // namespace lab::peers

/// The two kinds of worker queues in the stepped pool: with a mutex, and lock-free.
///
/// Used by: stepped_pool. Both have the same members. Any thread calls put(), the worker calls take(), any
/// other worker calls steal(). take() and steal() fill at most `most` places and return how many.
#pragma once

#include <lab/experiments/ablation/node.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace lab::ablation {

template <steps S>
class mutex_queue {
public:
    void put(node<S>* n) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(n);
    }

    unsigned take(node<S>** to, unsigned most) {
        const std::lock_guard lock(mutex_);
        return pop(to, std::min<std::size_t>(most, tasks_.size()));
    }

    // At most half, rounded up, because the victim needs the rest.
    unsigned steal(node<S>** to, unsigned most) {
        const std::lock_guard lock(mutex_);
        return pop(to, std::min<std::size_t>(most, (tasks_.size() + 1) / 2));
    }

private:
    unsigned pop(node<S>** to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            to[i] = tasks_.front();
            tasks_.pop_front();
        }
        return static_cast<unsigned>(count);
    }

    std::mutex mutex_;
    std::deque<node<S>*> tasks_;
};

/// A Chase-Lev deque for its worker (Chase and Lev 2005, memory orders by Le, Pop, Cohen and Zappa Nardelli
/// 2013), and an inbox for all other threads: a stack that is emptied at once.
template <steps S>
class lock_free_queue {
public:
    lock_free_queue() { replace(1024); }

    void put(node<S>* n) {
        node<S>* head = inbox_.value.load(std::memory_order_relaxed);
        do n->next = head;
        // Release: pairs with the exchange in unpack() and in steal().
        while (!inbox_.value.compare_exchange_weak(head, n, std::memory_order_release,
                                                   std::memory_order_relaxed));
    }

    unsigned take(node<S>** to, unsigned most) {
        unsigned count = 0;
        while (count < most)
            if (node<S>* n = pop())
                to[count++] = n;
            else if (count > 0 || !unpack())
                break;
        return count;
    }

    unsigned steal(node<S>** to, unsigned) {
        if (node<S>* n = steal_one()) {
            to[0] = n;
            return 1;
        }
        return 0;
    }

    /// For a thief whose own deque is empty. Returns the victim's whole inbox, or null.
    node<S>* steal_inbox() {
        if (!inbox_.value.load(std::memory_order_relaxed)) return nullptr;
        return inbox_.value.exchange(nullptr, std::memory_order_acquire);
    }

    /// Owner only. Pushes a chain, newest node first, so that its oldest node is popped first.
    bool adopt(node<S>* chain) {
        const bool any = chain != nullptr;
        while (chain) {
            node<S>* next = chain->next;
            push(chain);
            chain = next;
        }
        return any;
    }

private:
    struct ring {
        explicit ring(std::size_t size) : mask(size - 1), slots(new std::atomic<node<S>*>[size]) {}
        std::size_t mask;
        std::unique_ptr<std::atomic<node<S>*>[]> slots;
        std::atomic<node<S>*>& at(std::int64_t i) { return slots[static_cast<std::size_t>(i) & mask]; }
    };

    template <class T>
    struct alignas(S.padding ? 128 : alignof(T)) place {
        T value{};
    };

    bool unpack() { return adopt(steal_inbox()); }

    ring* replace(std::size_t size) {
        rings_.push_back(std::make_unique<ring>(size)); // old ones stay, because thieves may still read them
        return rings_.back().get();
    }

    void push(node<S>* n) {
        const std::int64_t b = bottom_.value.load(std::memory_order_relaxed);
        const std::int64_t t = top_.value.load(std::memory_order_acquire);
        ring* r = rings_.back().get();
        if (b - t > static_cast<std::int64_t>(r->mask)) {
            ring* larger = replace(2 * (r->mask + 1));
            for (std::int64_t i = t; i < b; ++i)
                larger->at(i).store(r->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
            r = larger;
        }
        r->at(b).store(n, std::memory_order_relaxed);
        ring_.value.store(r, std::memory_order_release);
        // Release: publishes the slot. Pairs with the acquire of bottom_ in steal_one().
        bottom_.value.store(b + 1, std::memory_order_release);
    }

    node<S>* pop() {
        const std::int64_t b = bottom_.value.load(std::memory_order_relaxed) - 1;
        ring* r = rings_.back().get();
        bottom_.value.store(b, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with the fence in steal_one()
        std::int64_t t = top_.value.load(std::memory_order_relaxed);
        if (t > b) {
            bottom_.value.store(b + 1, std::memory_order_relaxed);
            return nullptr;
        }
        node<S>* n = r->at(b).load(std::memory_order_relaxed);
        if (t == b) { // the last element: thieves may steal it, too
            if (!top_.value.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                                    std::memory_order_relaxed))
                n = nullptr;
            bottom_.value.store(b + 1, std::memory_order_relaxed);
        }
        return n;
    }

    node<S>* steal_one() {
        std::int64_t t = top_.value.load(std::memory_order_acquire);
        std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with the fence in pop()
        const std::int64_t b = bottom_.value.load(std::memory_order_acquire);
        if (t >= b) return nullptr;
        // Acquire: the ring contains slot t. Pairs with the release in push().
        node<S>* n = ring_.value.load(std::memory_order_acquire)->at(t).load(std::memory_order_relaxed);
        return top_.value.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed)
                   ? n
                   : nullptr;
    }

    place<std::atomic<node<S>*>> inbox_;
    place<std::atomic<std::int64_t>> top_;
    place<std::atomic<std::int64_t>> bottom_;
    place<std::atomic<ring*>> ring_;
    std::vector<std::unique_ptr<ring>> rings_; // of the owner
};

} // namespace lab::ablation

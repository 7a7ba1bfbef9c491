/// A pool in which each of the source's tuning steps can be switched on independently.
///
/// Used by: the ablation. Its scheduling is as simple as the source's. Outside tasks are assigned to the
/// workers in turn. A worker searches its own queue, then the others'. If it finds nothing, it yields for a
/// while and then sleeps on a condition variable.
#pragma once

#include <lab/experiments/ablation/nodes_placement.hpp>
#include <lab/experiments/ablation/queues.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lab::ablation {

template <steps S>
class stepped_pool {
public:
    explicit stepped_pool(unsigned workers) : count_(workers), workers_(new worker[workers]) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
    }

    ~stepped_pool() {
        {
            const std::lock_guard lock(sleep_mutex_);
            stopping_.store(true);
        }
        wake_.notify_all();
        for (std::thread& t : threads_) t.join();
    }

    template <class F>
    void post(F f) {
        node<S>* n = node_source<S>::take();
        n->run = wrap<S>(std::move(f));
        workers_[next_.value.fetch_add(1, std::memory_order_relaxed) % count_].tasks.put(n);
        notify();
    }

    /// Like post(). With the step local_queue, a call inside a task pushes to the worker's own list.
    template <class F>
    void spawn(F f) {
        if constexpr (S.local_queue) {
            node<S>* n = node_source<S>::take();
            n->run = wrap<S>(std::move(f));
            self->local.push_back(n);
        } else {
            post(std::move(f));
        }
    }

private:
    using queue = std::conditional_t<S.lock_free, lock_free_queue<S>, mutex_queue<S>>;

    struct alignas(S.padding ? 128 : alignof(void*)) worker {
        queue tasks;
        std::vector<node<S>*> local; // only the worker uses it; not stealable, as in the source
    };

    struct alignas(S.padding ? 128 : alignof(void*)) shared_count {
        std::atomic<unsigned> value{0};
    };

    static constexpr unsigned most = S.batch ? batch_size : 1;
    static constexpr unsigned yields_before_sleep = 64;

    void work(unsigned index) {
        if constexpr (S.numa) bind_to_node_of(index, count_);
        self = &workers_[index];
        unsigned fruitless = 0;
        while (true) {
            if (run_some(index)) {
                fruitless = 0;
            } else if (stopping_.load()) {
                return;
            } else if (++fruitless < yields_before_sleep) {
                std::this_thread::yield();
            } else {
                sleep(index);
                fruitless = 0;
            }
        }
    }

    bool run_some(unsigned index) {
        std::array<node<S>*, most> taken;
        const unsigned count = find(index, taken.data());
        for (unsigned i = 0; i < count; ++i) {
            run(taken[i]);
            if constexpr (S.local_queue) run_local();
        }
        return count > 0;
    }

    void run_local() {
        while (!self->local.empty()) {
            node<S>* n = self->local.back();
            self->local.pop_back();
            run(n);
        }
    }

    unsigned find(unsigned index, node<S>** to) {
        if (const unsigned count = workers_[index].tasks.take(to, most)) return count;
        for (unsigned i = 1; i < count_; ++i) {
            worker& victim = workers_[(index + i) % count_];
            if (const unsigned count = victim.tasks.steal(to, most)) return count;
            if constexpr (S.lock_free)
                if (workers_[index].tasks.adopt(victim.tasks.steal_inbox()))
                    return workers_[index].tasks.take(to, most);
        }
        return 0;
    }

    static void run(node<S>* n) {
        n->run();
        node_source<S>::give(n);
    }

    void notify() {
        // A worker announces its sleep and then checks the queues. This thread fills a queue and then checks
        // for sleepers. With a fence between the two steps on both sides, one of them sees the other.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeping_.value.load(std::memory_order_relaxed) == 0) return;
        {
            const std::lock_guard lock(sleep_mutex_);
            ++wakes_;
        }
        wake_.notify_one();
    }

    void sleep(unsigned index) {
        std::unique_lock lock(sleep_mutex_);
        const unsigned long seen = wakes_;
        sleeping_.value.fetch_add(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // see notify()
        lock.unlock();
        const bool found = run_some(index);
        lock.lock();
        if (!found) wake_.wait(lock, [&] { return wakes_ != seen || stopping_.load(); });
        sleeping_.value.fetch_sub(1, std::memory_order_relaxed);
    }

    static inline thread_local worker* self = nullptr;

    unsigned count_;
    std::unique_ptr<worker[]> workers_;
    shared_count next_;     // assigns outside tasks
    shared_count sleeping_; // workers that may sleep
    std::mutex sleep_mutex_;
    std::condition_variable wake_;
    unsigned long wakes_ = 0;
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

} // namespace lab::ablation

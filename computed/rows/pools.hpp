/// The pools beside ekiden's, as small as they are in textbooks. They run on the same atomics.
///
/// Part: computed (rows).
#pragma once

#include <computed/rows/row.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/random.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace ekiden::rows {

struct job {
    virtual ~job() = default;
    virtual void run() = 0;
};
template <class F>
struct job_of final : job {
    explicit job_of(F f) : call(std::move(f)) {}
    void run() override { call(); }
    F call;
};

/// A queue with a mutex, and a futex as its condition variable.
class shared_queue {
public:
    explicit shared_queue(unsigned workers) {
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~shared_queue() {
        {
            const std::lock_guard guard(lock_);
            over_ = true;
            epoch_.fetch_add(1, sys::seq_cst);
        }
        (void)sys::futex_wake_all(epoch_);
        for (sys::thread& one : threads_) one.join();
    }
    template <class F>
    void post(F f) {
        job* const made = new job_of<F>(std::move(f));
        bool wakes = false;
        {
            const std::lock_guard guard(lock_);
            queue_.push_back(made);
            wakes = sleepers_ != 0;
            if (wakes) epoch_.fetch_add(1, sys::seq_cst);
        }
        if (wakes) sys::futex_wake(epoch_);
    }

private:
    void work() {
        for (;;) {
            job* next = nullptr;
            {
                std::unique_lock guard(lock_);
                while (queue_.empty()) {
                    if (over_) return;
                    const std::uint32_t seen = epoch_.load(sys::seq_cst);
                    ++sleepers_;
                    guard.unlock();
                    sys::futex_wait(epoch_, seen);
                    guard.lock();
                    --sleepers_;
                }
                next = queue_.front();
                queue_.pop_front();
            }
            next->run();
            delete next;
        }
    }

    sys::slow_lock lock_;
    std::deque<job*> queue_;
    unsigned sleepers_ = 0;
    bool over_ = false;
    alignas(sys::isolation) sys::atomic<std::uint32_t> epoch_{0};
    std::vector<sys::thread> threads_;
};

/// A shared lock-free queue: the bounded queue of Vyukov, with a futex for workers that find nothing.
class lock_free_queue {
public:
    explicit lock_free_queue(unsigned workers) : slots_(size) {
        for (std::size_t i = 0; i != size; ++i) slots_[i].turn.store(i, sys::relaxed);
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~lock_free_queue() {
        over_.store(true, sys::seq_cst);
        epoch_.fetch_add(1, sys::seq_cst);
        (void)sys::futex_wake_all(epoch_);
        for (sys::thread& one : threads_) one.join();
    }
    template <class F>
    void post(F f) {
        job* const made = new job_of<F>(std::move(f));
        while (!push(made)) sys::yield();
        sys::fence(sys::seq_cst);
        if (sleepers_.load(sys::relaxed) == 0) return;
        epoch_.fetch_add(1, sys::seq_cst);
        sys::futex_wake(epoch_);
    }

private:
    static constexpr std::size_t size = 1 << 18; // so that it is never full
    struct slot {
        sys::atomic<std::size_t> turn;
        job* value;
    };

    bool push(job* made) {
        for (std::size_t at = tail_.load(sys::relaxed);;) {
            slot& here = slots_[at % size];
            const std::size_t turn = here.turn.load(sys::acquire);
            if (turn < at) return false;
            if (turn != at) {
                at = tail_.load(sys::relaxed);
            } else if (tail_.compare_exchange_weak(at, at + 1, sys::relaxed, sys::relaxed)) {
                here.value = made;
                here.turn.store(at + 1, sys::release);
                return true;
            }
        }
    }
    job* pop() {
        for (std::size_t at = head_.load(sys::relaxed);;) {
            slot& here = slots_[at % size];
            const std::size_t turn = here.turn.load(sys::acquire);
            if (turn < at + 1) return nullptr;
            if (turn != at + 1) {
                at = head_.load(sys::relaxed);
            } else if (head_.compare_exchange_weak(at, at + 1, sys::relaxed, sys::relaxed)) {
                job* const taken = here.value;
                here.turn.store(at + size, sys::release);
                return taken;
            }
        }
    }
    void work() {
        for (unsigned rounds = 0;;) {
            job* next = pop();
            if (next == nullptr && ++rounds < 64) {
                sys::spin_hint();
                continue;
            }
            rounds = 0;
            if (next == nullptr) {
                const std::uint32_t seen = epoch_.load(sys::seq_cst);
                sleepers_.fetch_add(1, sys::seq_cst);
                next = pop();
                const bool over = next == nullptr && over_.load(sys::seq_cst);
                if (next == nullptr && !over) sys::futex_wait(epoch_, seen);
                sleepers_.fetch_sub(1, sys::seq_cst);
                if (over) return;
                if (next == nullptr) continue;
            }
            next->run();
            delete next;
        }
    }

    std::vector<slot> slots_;
    alignas(sys::isolation) sys::atomic<std::size_t> tail_{0};
    alignas(sys::isolation) sys::atomic<std::size_t> head_{0};
    alignas(sys::isolation) sys::atomic<unsigned> sleepers_{0};
    alignas(sys::isolation) sys::atomic<std::uint32_t> epoch_{0};
    sys::atomic<bool> over_{false};
    std::vector<sys::thread> threads_;
};

/// Work stealing as in textbooks: a deque of Chase and Lev for each worker, random victims, a queue with a
/// mutex for tasks from outside. A worker that finds nothing in 64 rounds sleeps. Each post wakes a sleeper.
class textbook {
public:
    explicit textbook(unsigned workers) : deques_(workers) {
        for (auto& one : deques_) one = std::make_unique<padded>();
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this, i] { work(i); });
    }
    ~textbook() {
        over_.store(true, sys::seq_cst);
        epoch_.fetch_add(1, sys::seq_cst);
        (void)sys::futex_wake_all(epoch_);
        for (sys::thread& one : threads_) one.join();
    }
    template <class F>
    void post(F f) {
        job* const made = new job_of<F>(std::move(f));
        place& here = sys::local<place>();
        if (here.pool == this) {
            deques_[here.number]->deque.push(made);
        } else {
            const std::lock_guard guard(lock_);
            outside_.push_back(made);
            size_.store(outside_.size(), sys::relaxed);
        }
        sys::fence(sys::seq_cst);
        if (sleepers_.load(sys::relaxed) != 0) {
            epoch_.fetch_add(1, sys::seq_cst);
            sys::futex_wake(epoch_);
        }
    }

private:
    struct alignas(sys::isolation) padded {
        chase_lev_deque<job> deque{1024};
    };
    struct place {
        textbook* pool;
        unsigned number;
    };

    job* find(unsigned me, sys::random& dice) {
        if (job* const own = deques_[me]->deque.pop()) return own;
        if (size_.load(sys::relaxed) != 0) {
            const std::lock_guard guard(lock_);
            if (!outside_.empty()) {
                job* const taken = outside_.front();
                outside_.pop_front();
                size_.store(outside_.size(), sys::relaxed);
                return taken;
            }
        }
        const auto victim = dice.below(static_cast<std::uint32_t>(deques_.size()));
        return victim != me ? deques_[victim]->deque.steal() : nullptr;
    }
    job* find_after_all(unsigned me) {
        for (unsigned i = 0; i != deques_.size(); ++i)
            if (i != me)
                if (job* const taken = deques_[i]->deque.steal()) return taken;
        return nullptr;
    }
    void work(unsigned me) {
        sys::local<place>() = {this, me};
        sys::random dice(me + 1);
        for (unsigned rounds = 0;;) {
            job* next = find(me, dice);
            if (next == nullptr && ++rounds < 64) {
                sys::spin_hint();
                continue;
            }
            if (next == nullptr) {
                const std::uint32_t seen = epoch_.load(sys::seq_cst);
                sleepers_.fetch_add(1, sys::seq_cst);
                next = find(me, dice);
                if (next == nullptr) next = find_after_all(me);
                if (next == nullptr && over_.load(sys::seq_cst)) {
                    sleepers_.fetch_sub(1, sys::seq_cst);
                    return;
                }
                if (next == nullptr) sys::futex_wait(epoch_, seen);
                sleepers_.fetch_sub(1, sys::seq_cst);
            }
            rounds = 0;
            if (next == nullptr) continue;
            next->run();
            delete next;
        }
    }

    std::vector<std::unique_ptr<padded>> deques_;
    alignas(sys::isolation) sys::slow_lock lock_;
    std::deque<job*> outside_;
    sys::atomic<std::size_t> size_{0};
    alignas(sys::isolation) sys::atomic<unsigned> sleepers_{0};
    alignas(sys::isolation) sys::atomic<std::uint32_t> epoch_{0};
    sys::atomic<bool> over_{false};
    std::vector<sys::thread> threads_;
};

/// ekiden's pool, as its users use it.
class own_pool {
public:
    explicit own_pool(unsigned workers) : pool_({.threads = workers}) {}
    template <class F>
    void post(F f) {
        pool_.post(std::move(f));
    }
    thread_pool& get() noexcept { return pool_; }

private:
    thread_pool pool_;
};

} // namespace ekiden::rows

/// The pool of the source's article on tuning (source 3 of the project), with its steps as switches.
///
/// Part: computed (rows). It is the pool of lab/experiments/ablation, written on the atomics of the library:
/// outside tasks go to the workers in turn, each worker has a queue with a mutex, and a worker that finds
/// nothing yields 64 times and then sleeps. Each task is a std::function, and makes a future that is dropped.
#pragma once

#include <computed/rows/pools.hpp>

#include <array>
#include <functional>
#include <future>

namespace ekiden::rows {

/// Everything is off in the source's pool before tuning.
struct steps {
    bool padding = false;        ///< data of different threads lies in different lines
    bool batch = false;          ///< a worker takes up to 16 tasks at once
    bool local_queue = false;    ///< a task that a task posts goes to a private list of the worker
    bool node_pool = false;      ///< nodes of tasks are used again
    bool without_future = false; ///< the node has the task, without a packaged_task
};

template <steps S>
class source_pool {
public:
    explicit source_pool(unsigned workers) : workers_(workers) {
        for (auto& one : workers_) one = std::make_unique<worker>();
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this, i] { work(i); });
    }
    ~source_pool() {
        over_.store(true, sys::seq_cst);
        epoch_.fetch_add(1, sys::seq_cst);
        (void)sys::futex_wake_all(epoch_);
        for (sys::thread& one : threads_) one.join();
    }

    template <class F>
    void post(F f) {
        node* const made = take();
        if constexpr (S.without_future) {
            made->run = std::move(f);
        } else {
            auto task = std::make_shared<std::packaged_task<void()>>(std::move(f));
            (void)task->get_future();
            made->run = [task] { (*task)(); };
        }
        if constexpr (S.local_queue) {
            if (place& here = sys::local<place>(); here.pool == this) {
                here.self->local.push_back(made);
                return;
            }
        }
        worker& to = *workers_[next_.value.fetch_add(1, sys::relaxed) % workers_.size()];
        {
            const std::lock_guard guard(to.lock);
            to.tasks.push_back(made);
        }
        sys::fence(sys::seq_cst); // a worker announces its sleep and then looks
        if (sleepers_.value.load(sys::relaxed) == 0) return;
        epoch_.fetch_add(1, sys::seq_cst);
        (void)sys::futex_wake(epoch_);
    }

private:
    static constexpr std::size_t apart = S.padding ? 128 : alignof(void*);
    static constexpr unsigned most = S.batch ? 16 : 1;

    struct node {
        std::function<void()> run;
        node* next = nullptr;
    };
    struct alignas(apart) worker {
        sys::slow_lock lock;
        std::deque<node*> tasks;
        std::vector<node*> local;
    };
    struct alignas(apart) count {
        sys::atomic<unsigned> value{0};
    };
    struct place {
        source_pool* pool;
        worker* self;
    };

    // ---- nodes: with the step node_pool, a list of each thread, and a shelf of full lists for all threads
    struct list {
        node* head;
        unsigned length;
    };
    static constexpr unsigned chain = 64;
    node* take() {
        if constexpr (!S.node_pool) return new node;
        list& mine = sys::local<list>();
        if (mine.head == nullptr) {
            const std::lock_guard guard(shelf_lock_);
            if (!shelf_.empty()) {
                mine = {shelf_.back(), chain};
                shelf_.pop_back();
            }
        }
        if (mine.head == nullptr) {
            node* const block = new node[chain]; // the process ends before it is needed
            for (unsigned i = 0; i != chain; ++i) block[i].next = i + 1 != chain ? &block[i + 1] : nullptr;
            mine = {block, chain};
        }
        node* const taken = mine.head;
        mine.head = taken->next;
        --mine.length;
        return taken;
    }
    void give(node* done) {
        if constexpr (!S.node_pool) {
            delete done;
            return;
        }
        done->run = nullptr;
        list& mine = sys::local<list>();
        if (mine.length == chain) {
            const std::lock_guard guard(shelf_lock_);
            shelf_.push_back(std::exchange(mine, list{}).head);
        }
        done->next = mine.head;
        mine = {done, mine.length + 1};
    }

    // ---- workers
    unsigned take_from(worker& victim, node** to, bool is_own) {
        const std::lock_guard guard(victim.lock);
        const std::size_t size = victim.tasks.size();
        const auto number = std::min<std::size_t>(most, is_own ? size : (size + 1) / 2);
        for (std::size_t i = 0; i != number; ++i) {
            to[i] = victim.tasks.front();
            victim.tasks.pop_front();
        }
        return static_cast<unsigned>(number);
    }
    bool run_some(unsigned me) {
        std::array<node*, most> taken;
        unsigned number = take_from(*workers_[me], taken.data(), true);
        for (std::size_t i = 1; number == 0 && i < workers_.size(); ++i)
            number = take_from(*workers_[(me + i) % workers_.size()], taken.data(), false);
        std::vector<node*>& local = workers_[me]->local;
        for (unsigned i = 0; i != number; ++i) {
            run(taken[i]);
            while (!local.empty()) {
                node* const next = local.back();
                local.pop_back();
                run(next);
            }
        }
        return number != 0;
    }
    void run(node* next) {
        next->run();
        give(next);
    }
    void work(unsigned me) {
        sys::local<place>() = {this, workers_[me].get()};
        for (unsigned fruitless = 0;;) {
            if (run_some(me)) {
                fruitless = 0;
            } else if (over_.load(sys::seq_cst)) {
                return;
            } else if (++fruitless < 64) {
                sys::yield();
            } else {
                fruitless = 0;
                const std::uint32_t seen = epoch_.load(sys::seq_cst);
                sleepers_.value.fetch_add(1, sys::seq_cst);
                if (!run_some(me) && !over_.load(sys::seq_cst)) sys::futex_wait(epoch_, seen);
                sleepers_.value.fetch_sub(1, sys::seq_cst);
            }
        }
    }

    std::vector<std::unique_ptr<worker>> workers_;
    count next_;     // chooses the worker of an outside task
    count sleepers_; // workers that may sleep
    sys::atomic<std::uint32_t> epoch_{0};
    sys::atomic<bool> over_{false};
    sys::slow_lock shelf_lock_;
    std::vector<node*> shelf_;
    std::vector<sys::thread> threads_;
};

} // namespace ekiden::rows

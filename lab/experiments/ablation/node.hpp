/// The queued unit of the stepped pool, and its memory.
///
/// Used by: stepped_pool and its queues.
#pragma once

#include <lab/experiments/ablation/steps.hpp>
#include <lab/peers/small_task.hpp>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace lab::ablation {

/// The callable of a node: with a future for each task, as in the source, or without.
template <steps S>
using callable = std::conditional_t<S.without_future, peers::small_task, std::function<void()>>;

template <steps S>
struct node {
    callable<S> run;
    node* next = nullptr; // in an inbox or a free list
};

/// Wraps `f` as the steps require. A future is created and dropped, as in the source's benchmark.
template <steps S, class F>
callable<S> wrap(F f) {
    if constexpr (S.without_future) {
        return callable<S>(std::move(f));
    } else {
        auto task = std::make_shared<std::packaged_task<void()>>(std::move(f));
        [[maybe_unused]] const std::future<void> dropped = task->get_future();
        return [task] { (*task)(); };
    }
}

/// Task nodes come from new and delete, or from a list per thread with the step node_pool. The freeing thread
/// is rarely the allocating one. So full lists return through a shared shelf, 64 nodes at a time.
template <steps S>
class node_source {
public:
    static node<S>* take() {
        if constexpr (!S.node_pool) {
            return new node<S>;
        } else {
            list& own = mine();
            if (!own.head) refill(own);
            node<S>* n = own.head;
            own.head = n->next;
            --own.length;
            n->next = nullptr;
            return n;
        }
    }

    static void give(node<S>* n) {
        if constexpr (!S.node_pool) {
            delete n;
        } else {
            n->run = nullptr_callable();
            list& own = mine();
            if (own.length == chain) { // this list is full, so it moves to the shelf
                const std::lock_guard lock(shelf().mutex);
                shelf().chains.push_back(std::exchange(own, list{}).head);
            }
            n->next = own.head;
            own.head = n;
            ++own.length;
        }
    }

private:
    static constexpr unsigned chain = 64;

    struct list {
        node<S>* head = nullptr;
        unsigned length = 0;
    };

    struct shared_shelf {
        std::mutex mutex;
        std::vector<node<S>*> chains; // each has `chain` nodes
        std::vector<std::unique_ptr<node<S>[]>> blocks;
    };

    static callable<S> nullptr_callable() { return callable<S>(); }

    static list& mine() {
        static thread_local list own;
        return own;
    }

    // Lives as long as the process, like the nodes of threads that have ended.
    static shared_shelf& shelf() {
        static shared_shelf* const s = new shared_shelf;
        return *s;
    }

    static void refill(list& own) {
        const std::lock_guard lock(shelf().mutex);
        if (!shelf().chains.empty()) {
            own.head = shelf().chains.back();
            shelf().chains.pop_back();
        } else {
            auto block = std::make_unique<node<S>[]>(chain);
            for (unsigned i = 0; i < chain; ++i) {
                block[i].next = own.head;
                own.head = &block[i];
            }
            shelf().blocks.push_back(std::move(block));
        }
        own.length = chain;
    }
};

} // namespace lab::ablation

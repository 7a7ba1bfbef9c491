/// The queued unit of the stepped pool, and where its memory comes from.
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

/// What a node runs: with a future per task, as the source has it, or without.
template <steps S>
using callable = std::conditional_t<S.without_future, peers::small_task, std::function<void()>>;

template <steps S>
struct node {
    callable<S> run;
    node* next = nullptr; // in an inbox or a free list
};

/// Wraps `f` as the steps say; a future that nobody keeps is made and dropped, which is what the source's
/// benchmark does.
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

/// Task nodes from new and delete, or, with the step node_pool, from a list per thread. The thread that frees
/// is rarely the one that allocates: full lists go back through a shared shelf, 64 nodes at a time.
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
            if (own.length == chain) { // this list is whole: put it on the shelf
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
        std::vector<node<S>*> chains; // each of `chain` nodes
        std::vector<std::unique_ptr<node<S>[]>> blocks;
    };

    static callable<S> nullptr_callable() { return callable<S>(); }

    static list& mine() {
        static thread_local list own;
        return own;
    }

    // Lives as long as the process, as the nodes of threads that have ended do.
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

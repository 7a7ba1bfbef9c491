// An unbounded queue for many threads: M. M. Michael and M. L. Scott, "Simple, Fast, and Practical
// Non-Blocking and Blocking Concurrent Queue Algorithms", PODC 1996. Nodes are freed through hazard pointers,
// two places for each thread.
#pragma once

#include "hazard_pointers.hpp"

#include <cstddef>
#include <optional>

template <class T, std::size_t threads>
class ms_queue {
    struct node {
        node() = default;
        explicit node(T v) : value(v) {}
        ekiden::checkable::cell<T> value;
        ekiden::checkable::atomic<node*> next{nullptr};
    };
    using hazards = hazard_pointers<node, 2 * threads>;

public:
    ms_queue() : head_(new node), tail_(head_.load(std::memory_order_relaxed)) {}
    ~ms_queue() {
        for (node* at = head_.load(std::memory_order_relaxed); at != nullptr;) {
            node* const next = at->next.load(std::memory_order_relaxed);
            delete at;
            at = next;
        }
    }
    ms_queue(const ms_queue&) = delete;
    ms_queue& operator=(const ms_queue&) = delete;

    /// A thread's access to the queue. Each thread has its own `number`, less than `threads`.
    class handle {
    public:
        handle(ms_queue& queue, std::size_t number)
            : queue_(queue), place_(2 * number), retired_(queue.hazards_) {}

        void push(T value) {
            node* const made = new node(value);
            for (;;) {
                node* tail = queue_.hazards_.protect(place_, queue_.tail_);
                node* next = nullptr;
                if (tail->next.compare_exchange_strong(next, made, std::memory_order_release,
                                                       std::memory_order_acquire))
                    next = made;
                queue_.tail_.compare_exchange_strong(tail, next, std::memory_order_seq_cst,
                                                     std::memory_order_relaxed);
                if (next == made) break;
            }
            queue_.hazards_.clear(place_);
        }

        std::optional<T> pop() {
            std::optional<T> value;
            for (;;) {
                node* head = queue_.hazards_.protect(place_, queue_.head_);
                node* tail = queue_.tail_.load(std::memory_order_relaxed); // only compared
                node* const next = head->next.load(std::memory_order_acquire);
                if (next == nullptr) break;
                if (head == tail) { // never free what the tail leads to
                    queue_.tail_.compare_exchange_strong(tail, next, std::memory_order_seq_cst,
                                                         std::memory_order_relaxed);
                    continue;
                }
                queue_.hazards_.announce(place_ + 1, next);
                if (!queue_.head_.compare_exchange_strong(head, next, std::memory_order_seq_cst,
                                                          std::memory_order_relaxed))
                    continue;
                value = next->value.read();
                queue_.hazards_.clear(place_);
                if (EKIDEN_MUTANT(pop_frees_at_once))
                    delete head;
                else
                    retired_.add(head);
                break;
            }
            queue_.hazards_.clear(place_);
            queue_.hazards_.clear(place_ + 1);
            return value;
        }

    private:
        ms_queue& queue_;
        std::size_t place_;
        typename hazards::retired retired_;
    };

private:
    hazards hazards_;
    ekiden::checkable::atomic<node*>
        head_; // a node whose value has been taken; the first value is in the next
    ekiden::checkable::atomic<node*> tail_; // the last node, or the one before it
};

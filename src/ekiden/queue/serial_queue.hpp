/// A queue from any number of threads to one consumer at a time. It also records whether there is a consumer.
///
/// Part: queue. Used by: strands (whose drain consumes), loops (whose thread does).
///
/// Modeled on D. Vyukov's intrusive multi-producer queue, without its stub node: a producer that finds the
/// queue empty links its task to `oldest_`, where the consumer begins. So the list contains tasks only, and
/// the consumer may leave in the middle of a push.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// 16 bytes. A push is wait-free: one exchange. Tasks are taken in the order of the exchanges. So the task of
/// a push that has returned comes before the task of a later push. The queue owns no tasks.
class serial_queue {
public:
    serial_queue() = default;
    serial_queue(const serial_queue&) = delete;
    serial_queue& operator=(const serial_queue&) = delete;

    /// Any thread: adds a task. Returns true if there was no consumer. Then the caller must provide one. What
    /// the caller did before is visible to the consumer that takes the task. When the task can be taken, this
    /// call no longer uses the queue or the task.
    [[nodiscard]] bool push(task* pushed) noexcept {
        pushed->begin_link();
        // [SE1] acq_rel: releases the new link to the next push, and acquires the link of the task before.
        // [SE3] [SE4] Acquire: what the consumer has done.
        const std::uintptr_t before = newest_.exchange(word_of(pushed), sys::acq_rel);
        // [SE2] Release: publishes the task. Pairs with the acquires in take().
        if (before > ended)
            task_of(before)->next.store(pushed, sys::release);
        else
            oldest_.store(pushed, sys::release);
        return before == idle;
    }

    /// Consumer: takes the oldest task. Returns null if no task is ready. A push may be under way then, and
    /// try_rest() finds out.
    [[nodiscard]] task* take() noexcept {
        task* const first = oldest_.load(sys::acquire); // [SE2]
        if (first == nullptr) return nullptr;
        task* second = first->next.load(sys::acquire); // [SE2]
        if (second == nullptr) {
            // Before the queue can be seen to be empty, because the next push sets oldest_.
            oldest_.store(nullptr, sys::relaxed);
            std::uintptr_t newest = word_of(first);
            // [SE3] Release: the store above. Pairs with the acquire in push(). [SE5] Acquire on failure: if
            // the queue has ended, all pushes.
            if (newest_.compare_exchange_strong(newest, drained, sys::release, sys::acquire)) {
                first->end_link();
                return first;
            }
            second = first->next.load(sys::acquire); // [SE2]
            if (second == nullptr && newest != ended) {
                oldest_.store(first, sys::relaxed); // a push is under way
                return nullptr;
            }
        }
        __builtin_prefetch(second); // it may lie in another core's cache
        oldest_.store(second, sys::relaxed);
        first->end_link();
        return first;
    }

    /// Consumer: returns whether the oldest task is visible. take() returns it unless a push behind it is
    /// under way. Acquires what the producer of the task has released.
    [[nodiscard]] bool has_oldest() const noexcept { return oldest_.load(sys::acquire) != nullptr; } // [SE2]

    /// Consumer, when take() has returned null: stops being the consumer, and must no longer use the queue.
    /// Returns false, and has no effect, if a push is under way or end() has been called.
    [[nodiscard]] bool try_rest() noexcept {
        std::uintptr_t expected = drained;
        // [SE4] Release: all that the consumer did. Pairs with the acquires in push(), try_begin() and end().
        return newest_.compare_exchange_strong(expected, idle, sys::release, sys::relaxed);
    }

    /// Any thread: becomes the consumer if there is none and the queue is empty. Returns whether it did.
    [[nodiscard]] bool try_begin() noexcept {
        if (!is_idle()) return false; // cheaper than a failed exchange
        std::uintptr_t expected = idle;
        // [SE4] Acquire: what the last consumer did. Release: what the caller has done since, for the next
        // push().
        return newest_.compare_exchange_strong(expected, drained, sys::acq_rel, sys::relaxed);
    }

    /// Called once, after the last push: ends the queue. Returns true if there is no consumer, and then there
    /// will be none. Otherwise the consumer finds out with has_ended().
    [[nodiscard]] bool end() noexcept {
        // [SE5] Release: all pushes. Pairs with the acquires in take() and has_ended(). [SE4] Acquire: what
        // the last consumer did.
        return newest_.exchange(ended, sys::acq_rel) == idle;
    }

    /// Consumer: returns whether end() has been called and the queue is empty. Then no other thread uses the
    /// queue.
    [[nodiscard]] bool has_ended() const noexcept {
        // [SE5] Acquire: the second load sees the last push.
        return newest_.load(sys::acquire) == ended && oldest_.load(sys::relaxed) == nullptr;
    }

    /// Consumer: returns whether the queue is empty and no push is under way. A hint.
    [[nodiscard]] bool is_drained() const noexcept { return newest_.load(sys::relaxed) == drained; }

    /// Any thread: returns whether the queue is empty and has no consumer. A hint.
    [[nodiscard]] bool is_idle() const noexcept { return newest_.load(sys::relaxed) == idle; }

private:
    // newest_    meaning                                        set by
    // idle       the queue is empty and has no consumer         try_rest
    // drained    the queue is empty and has a consumer          take, try_begin
    // ended      there are no more pushes                       end
    // a task     the newest; there is or will be a consumer     push
    static constexpr std::uintptr_t idle = 0;
    static constexpr std::uintptr_t drained = 1;
    static constexpr std::uintptr_t ended = 2;

    static std::uintptr_t word_of(const task* pushed) noexcept {
        return reinterpret_cast<std::uintptr_t>(pushed);
    }
    static task* task_of(std::uintptr_t word) noexcept { return reinterpret_cast<task*>(word); }

    sys::atomic<std::uintptr_t> newest_{idle};
    // The link to the oldest task. Written by the consumer, and by a push into the empty queue.
    sys::atomic<task*> oldest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

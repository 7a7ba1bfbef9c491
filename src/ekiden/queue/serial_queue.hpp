/// A queue with any number of producers, and one consumer at a time. The queue also records whether it has a
/// consumer.
///
/// Part: queue. Used by: execution, lanes, loop. The consumer is, for example, the thread that runs the tasks
/// of a strand or of a loop.
///
/// The algorithm is modeled on Vyukov's intrusive multi-producer queue, but needs no stub node. A producer
/// that finds the queue empty stores its task in `oldest_`, where the consumer begins. So the list contains
/// only tasks, and take() never waits for a push that is under way.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A serial_queue has a size of 16 bytes. A push is wait-free, because it needs only one atomic exchange.
/// Tasks are taken in the order of these exchanges. So if one push returns before another push begins, the
/// task of the first push is taken first. The queue does not own the tasks.
class serial_queue {
public:
    serial_queue() = default;
    serial_queue(const serial_queue&) = delete;
    serial_queue& operator=(const serial_queue&) = delete;

    /// Any thread: adds a task. Returns true if there was no consumer. The caller must then provide a
    /// consumer. Everything that the caller did before is visible to the consumer that takes the task. As
    /// soon as a consumer can take the task, this call no longer uses the queue or the task.
    [[nodiscard]] bool push(task* pushed) noexcept {
        pushed->begin_link();
        // [SE1] acq_rel: the release publishes the link of `pushed` to the next push, and the acquire sees
        // the link of the previous task. [SE3] [SE4] Acquire: sees what the consumer has done. Pairs with the
        // releases in take() and try_rest().
        const std::uintptr_t before = newest_.exchange(word_of(pushed), sys::acq_rel);
        link(before, pushed);
        return before == idle;
    }

    /// Any thread: adds a task like push(), but only if there is a consumer. Returns false, without an
    /// effect, if there is no consumer, or if another push comes between.
    [[nodiscard]] bool push_if_busy(task* pushed) noexcept {
        std::uintptr_t before = newest_.load(sys::relaxed);
        if (before == idle && !EKIDEN_MUTANT(queue_is_busy_without_a_consumer)) return false;
        pushed->begin_link();
        // [SE1] [SE3] As in push(). Release also publishes what the caller did before.
        if (!newest_.compare_exchange_strong(before, word_of(pushed), sys::acq_rel, sys::relaxed)) {
            pushed->end_link();
            return false;
        }
        link(before, pushed);
        return true;
    }

    /// Consumer: takes the oldest task. Returns null if no task is ready. If the result is null, a push may
    /// not have completed yet. try_rest() detects such a push.
    [[nodiscard]] task* take() noexcept {
        task* const first = oldest_.load(sys::acquire); // [SE2]
        if (first == nullptr) return nullptr;
        task* second = first->next.load(sys::acquire); // [SE2]
        if (second == nullptr) {
            // Clears oldest_ before other threads can see that the queue is empty, because the next push sets
            // oldest_.
            oldest_.store(nullptr, sys::relaxed);
            std::uintptr_t newest = word_of(first);
            // [SE3] Release: publishes the store above. Pairs with the acquire in push(). [SE5] Acquire on
            // failure: ensures that this thread sees all pushes if end() was called. Pairs with the release
            // in end().
            if (newest_.compare_exchange_strong(newest, drained, sys::release, sys::acquire)) {
                first->end_link();
                return first;
            }
            second = first->next.load(sys::acquire); // [SE2]
            if (second == nullptr && newest != ended) {
                oldest_.store(first, sys::relaxed); // a push has not completed yet
                return nullptr;
            }
        }
        sys::prefetch(second); // the next task may be in the cache of another core
        oldest_.store(second, sys::relaxed);
        first->end_link();
        return first;
    }

    /// Consumer: returns whether the oldest task is visible. If the oldest task is visible, take() returns
    /// it, unless the next push is still under way. Everything that the producer of the task did before is
    /// visible after a true result.
    [[nodiscard]] bool has_oldest() const noexcept { return oldest_.load(sys::acquire) != nullptr; } // [SE2]

    /// Called by the consumer after take() has returned null. If the call returns true, the caller is no
    /// longer the consumer, and must no longer use the queue. The call returns false and has no effect if a
    /// push is under way or end() has been called.
    [[nodiscard]] bool try_rest() noexcept {
        std::uintptr_t expected = drained;
        // [SE4] Release: publishes everything that the consumer did. Pairs with the acquires in push(),
        // try_begin() and end().
        return newest_.compare_exchange_strong(expected, idle, sys::release, sys::relaxed);
    }

    /// Any thread: becomes the consumer if there is no consumer and the queue is empty. Returns whether the
    /// caller has become the consumer.
    [[nodiscard]] bool try_begin() noexcept {
        if (!is_idle()) return false; // this check is cheaper than a failed exchange
        std::uintptr_t expected = idle;
        // [SE4] Acquire: sees what the last consumer did. Release: publishes what the caller did before.
        // Pairs with the acquire in the next push().
        return newest_.compare_exchange_strong(expected, drained, sys::acq_rel, sys::relaxed);
    }

    /// Ends the queue. Called once, after the last push. Returns true if there is no consumer. After a true
    /// result, no thread can become the consumer. If there is a consumer, the consumer calls has_ended() to
    /// learn that the queue has ended.
    [[nodiscard]] bool end() noexcept {
        // [SE5] Release: publishes all pushes. Pairs with the acquires in take() and has_ended(). [SE4]
        // Acquire: sees what the last consumer did.
        return newest_.exchange(ended, sys::acq_rel) == idle;
    }

    /// Consumer: returns whether end() has been called and the queue is empty. After a true result, no other
    /// thread uses the queue.
    [[nodiscard]] bool has_ended() const noexcept {
        // [SE5] Acquire: ensures that the load of oldest_ sees the last push. Pairs with the release in
        // end().
        return newest_.load(sys::acquire) == ended && oldest_.load(sys::relaxed) == nullptr;
    }

    /// Consumer: returns whether the queue is empty and no push is under way. The result is a hint.
    [[nodiscard]] bool is_drained() const noexcept { return newest_.load(sys::relaxed) == drained; }

    /// Any thread: returns whether the queue is empty and has no consumer. The result is a hint.
    [[nodiscard]] bool is_idle() const noexcept { return newest_.load(sys::relaxed) == idle; }

private:
    // The values of newest_:
    //  * idle: the queue is empty and has no consumer. try_rest() sets this value.
    //  * drained: the queue is empty and has a consumer. take() and try_begin() set this value.
    //  * ended: no thread pushes any more. end() sets this value.
    //  * a pointer to the newest task: there is a consumer, or there will be one soon. push() sets this
    //    value.
    static constexpr std::uintptr_t idle = 0;
    static constexpr std::uintptr_t drained = 1;
    static constexpr std::uintptr_t ended = 2;

    static std::uintptr_t word_of(const task* pushed) noexcept {
        return reinterpret_cast<std::uintptr_t>(pushed);
    }
    static task* task_of(std::uintptr_t word) noexcept { return reinterpret_cast<task*>(word); }

    /// Links a task behind the value that newest_ had before the task.
    void link(std::uintptr_t before, task* pushed) noexcept {
        // [SE2] Release: publishes the task. Pairs with the acquires in take().
        if (before > ended)
            task_of(before)->next.store(pushed, sys::release);
        else
            oldest_.store(pushed, sys::release);
    }

    sys::atomic<std::uintptr_t> newest_{idle};
    // The link to the oldest task. The consumer writes this link. A push into an empty queue also writes this
    // link.
    sys::atomic<task*> oldest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

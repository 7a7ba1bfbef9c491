/// Tasks from any threads for one consumer at a time. The queue itself says whether there is a consumer.
///
/// Part: queue. Used by: strands (whose drain consumes), loops (whose thread does).
///
/// After D. Vyukov's intrusive multi-producer queue. New is that it has no stub: the word in which the
/// consumer keeps its place is the link that a producer sets when it finds nothing queued. So nothing of the
/// queue itself is ever in the list, and the consumer may leave in the middle of a producer's push.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// 16 bytes. A push is wait-free: one exchange. Tasks come out in the order of these, which is that of the
/// calls where one had returned before the other began. The queue owns nothing.
class serial_queue {
public:
    serial_queue() = default;
    serial_queue(const serial_queue&) = delete;
    serial_queue& operator=(const serial_queue&) = delete;

    /// Any thread. True: there was no consumer, and the caller sees to it that one comes. What the caller did
    /// before is visible to the consumer that takes the task. The call touches neither the queue nor the task
    /// any more once that can be taken.
    [[nodiscard]] bool push(task* pushed) noexcept {
        pushed->begin_link();
        // [SE1] acq_rel: the link just made, for the next push; that of the task before.
        // [SE3] [SE4] acquire: or what the consumer has left.
        const std::uintptr_t before = newest_.exchange(word_of(pushed), sys::acq_rel);
        // [SE2] release: the task; pairs with the acquires in take().
        if (before > ended)
            task_of(before)->next.store(pushed, sys::release);
        else
            oldest_.store(pushed, sys::release);
        return before == idle;
    }

    /// The consumer: the oldest task, or null if none is ready. There may be one all the same, of a thread
    /// between the two steps of its push: try_rest() tells.
    [[nodiscard]] task* take() noexcept {
        task* const first = oldest_.load(sys::acquire); // [SE2]
        if (first == nullptr) return nullptr;
        task* second = first->next.load(sys::acquire); // [SE2]
        if (second == nullptr) {
            // Before others can see that nothing is queued: the next of them sets it.
            oldest_.store(nullptr, sys::relaxed);
            std::uintptr_t newest = word_of(first);
            // [SE3] release: the store above, for the next push, whose exchange acquires. [SE5] acquire on
            // failure: if the queue has ended, all pushes.
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
        __builtin_prefetch(second); // it may come from another core's cache, while the first one runs
        oldest_.store(second, sys::relaxed);
        first->end_link();
        return first;
    }

    /// The consumer: whether the oldest task can be seen, which take() returns unless a push behind it is
    /// under way. Acquires what its producer has released.
    [[nodiscard]] bool has_oldest() const noexcept { return oldest_.load(sys::acquire) != nullptr; } // [SE2]

    /// The consumer, when take() has returned null: true if nothing is queued; then it is the consumer no
    /// more, and must not touch the queue again. False: a push is under way, or end() has been called.
    [[nodiscard]] bool try_rest() noexcept {
        std::uintptr_t expected = drained;
        // [SE4] release: all that the consumer did; pairs with the acquires in push(), try_begin() and end().
        return newest_.compare_exchange_strong(expected, idle, sys::release, sys::relaxed);
    }

    /// Any thread: true if there was no consumer and nothing was queued; the caller is the consumer now.
    [[nodiscard]] bool try_begin() noexcept {
        if (!is_idle()) return false; // cheaper
        std::uintptr_t expected = idle;
        // [SE4] acquire; and release: what the caller has done since its try_rest(), for the next push().
        return newest_.compare_exchange_strong(expected, drained, sys::acq_rel, sys::relaxed);
    }

    /// Once, when nobody will push any more, and the last who did is seen: true if there is no consumer; then
    /// none will come. False if there is one: it finds out by has_ended().
    [[nodiscard]] bool end() noexcept {
        // [SE5] release: all pushes; pairs with the acquires in take() and has_ended(). Acquire: [SE4].
        return newest_.exchange(ended, sys::acq_rel) == idle;
    }

    /// The consumer: whether end() has been called and nothing is left. There is nobody but it then.
    [[nodiscard]] bool has_ended() const noexcept {
        // [SE5] acquire: so the second look sees the last push.
        return newest_.load(sys::acquire) == ended && oldest_.load(sys::relaxed) == nullptr;
    }

    /// The consumer: whether nothing is queued, and no push is under way. A hint.
    [[nodiscard]] bool is_drained() const noexcept { return newest_.load(sys::relaxed) == drained; }

    /// Whether nothing is queued and nobody consumes. Any thread; a hint.
    [[nodiscard]] bool is_idle() const noexcept { return newest_.load(sys::relaxed) == idle; }

private:
    // newest_    meaning                                        set by
    // idle       nothing is queued, and nobody consumes         try_rest
    // drained    nothing is queued, and somebody consumes       take, try_begin
    // ended      nobody pushes any more                         end
    // a task     the last one; somebody consumes, or is to      push
    static constexpr std::uintptr_t idle = 0;
    static constexpr std::uintptr_t drained = 1;
    static constexpr std::uintptr_t ended = 2;

    static std::uintptr_t word_of(const task* pushed) noexcept {
        return reinterpret_cast<std::uintptr_t>(pushed);
    }
    static task* task_of(std::uintptr_t word) noexcept { return reinterpret_cast<task*>(word); }

    sys::atomic<std::uintptr_t> newest_{idle};
    // The link to the oldest task. Written by the consumer, and by the producer whose push found none queued.
    sys::atomic<task*> oldest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

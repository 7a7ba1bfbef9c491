/// The engine of a loop_context that one thread runs: a queue without locks, and one word to sleep on.
///
/// Part: loop. Used by: loop_context. Private. The protocol and its proof: loop.md.
#pragma once

#include <ekiden/loop/loop_alarms.hpp>
#include <ekiden/loop/loop_role.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Any thread posts, stops, and begins and ends outstanding work; one thread at a time runs.
class solo_loop {
public:
    /// `context` names it to the threads inside.
    explicit solo_loop(const void* context) noexcept;

    /// Takes the task over. After the task could be run, the call touches nothing of the loop but the
    /// address of a word.
    void push(task* accepted) noexcept {
        if (queue_.push(accepted)) [[unlikely]]
            ring(work);
    }

    /// Runs tasks; returns how many. Ends the program if another thread is inside.
    std::size_t run(const loop_request& request);

    /// Drops what is queued. Nobody is inside, and what is pushed meanwhile comes from the dropped tasks.
    void abandon_all() noexcept;

    void work_started() noexcept { word_.fetch_add(one_work, sys::relaxed); }
    void work_finished() noexcept;
    void stop() noexcept { ring(stopped); }
    void restart() noexcept { word_.fetch_and(~stopped, sys::relaxed); }
    [[nodiscard]] bool is_stopped() const noexcept {
        return (word_.load(sys::acquire) & stopped) != 0; // [LP1]
    }
    /// An alarm has become earlier. Any thread.
    void look_again() noexcept { ring(look); }

    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }
    [[nodiscard]] bool is_empty() const noexcept { return inside_.load(sys::relaxed) == 0; }

    // ---- for loop_pool

    /// Returns when no more work than `most` is outstanding, or the context has stopped. One thread.
    void await_work(std::uint32_t most) noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept {
        return word_.load(sys::acquire) / one_work; // [LP1]
    }
    /// The thread inside: the type of the task that runs, or has run last; and how many have begun.
    [[nodiscard]] task::function running_type() const noexcept { return running_type_; }
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }

private:
    class visit;

    // word_:
    //   bit 0      asleep: the thread sleeps or is about to; the queue has no consumer   the thread
    //   bit 1      work: a task was pushed when there was no consumer                    push
    //   bit 2      look: at the alarms                                                   look_again
    //   bit 3      stopped                                                               stop, the thread
    //   bit 4      watched: another thread waits for the end of outstanding work         await_work
    //   bits 5-31  outstanding work                                                      work_...
    static constexpr std::uint32_t asleep = 1;
    static constexpr std::uint32_t work = 2;
    static constexpr std::uint32_t look = 4;
    static constexpr std::uint32_t stopped = 8;
    static constexpr std::uint32_t watched = 16;
    static constexpr std::uint32_t one_work = 32;

    [[nodiscard]] task* next(const loop_request& request) noexcept;
    [[nodiscard]] task* spin() noexcept;
    bool rest(const loop_request& request) noexcept;
    void ring(std::uint32_t why) noexcept;
    void wake(std::uint32_t seen) noexcept;
    void execute(task* taken);
    [[nodiscard]] bool has_work_elsewhere() const noexcept { return word_.load(sys::relaxed) >= one_work; }

    const void* const context_;
    const std::uint16_t generation_; // of forks
    sys::atomic<std::uint32_t> inside_{0};
    loop_ticks ticks_;
    task::function running_type_ = nullptr;
    std::uint64_t begun_ = 0;
    loop_alarms alarms_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> word_{0};
    alignas(sys::isolation) serial_queue queue_;
};

} // namespace ekiden::inline EKIDEN_ABI

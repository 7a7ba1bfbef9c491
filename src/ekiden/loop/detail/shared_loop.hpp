/// The engine of a loop_context that any number of threads run at once: a ring for each thread that posts,
/// from which the threads inside take one task at a time.
///
/// Part: loop. Used by: loop_context. Private. The protocol and its proof: loop.md.
#pragma once

#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/loop/detail/loop_role.hpp>
#include <ekiden/loop/detail/loop_seats.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Thread-safe, but for the destructor and abandon_all().
class shared_loop {
public:
    /// While bit 0 of `gate` is set, pushes are refused. `context` names it to the threads inside, of which
    /// there are at most `seats`. Throws std::bad_alloc.
    shared_loop(context_id context, const sys::atomic<std::uint32_t>& gate, unsigned seats);

    /// Adds the task; false if refused. `wakes`: sees to it that a thread that sleeps takes it. Throws
    /// std::bad_alloc; then nothing has changed.
    [[nodiscard]] bool push(task* accepted, bool wakes) {
        constexpr std::uint32_t closed = 1;
        // A thread that sees the effect of its task may end the context while this call goes on. So the last
        // touch of it lies inside the push, which quiesce() waits for.
        return wakes ? queue_.push(accepted, closed, [this]() noexcept { seats_.notify(); })
                     : queue_.push(accepted, closed);
    }

    /// Runs tasks; returns how many.
    std::size_t run(const loop_request& request);

    /// The gate has been closed, and nobody is inside: drops what is queued.
    void abandon_all() noexcept;

    [[nodiscard]] loop_seats& seats() noexcept { return seats_; }
    [[nodiscard]] const loop_seats& seats() const noexcept { return seats_; }
    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }

private:
    class role;
    class visit;

    [[nodiscard]] task* next(visit& here, const loop_request& request) noexcept;
    [[nodiscard]] task* find(visit& here) noexcept;
    [[nodiscard]] task* search(visit& here) noexcept;
    void park(visit& here, const loop_request& request) noexcept;
    void sleep(visit& here, const loop_request& request) noexcept;
    void finish_if_idle(visit& here) noexcept;

    static constexpr unsigned fair_turn = 64; // tasks in a row from the same producers first

    const context_id context_;
    const std::uint16_t generation_; // of forks
    loop_alarms alarms_;
    injection_queue queue_;
    loop_seats seats_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// A task that is run once for each number of a range.
///
/// Part: queue. Used by: execution (post_bulk), pool.
#pragma once

#include <ekiden/queue/task.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Stands in a queue for the calls with the numbers of [first, last). The thread that takes it makes the
/// first of them; before the call it puts the task back with the others, so that any thread finds those.
/// Belongs to one thread at a time, like any task.
class repeated_task : public task {
public:
    /// Makes the call with number `i`. `callable` is what the caller of repeat() has given.
    using call = void (*)(const void* callable, std::size_t i);

    /// How a thread has come to the end of what it can do with the task.
    enum class end : std::uint8_t {
        elsewhere, ///< the task is in a queue, or was: it is the caller's no more
        last_call, ///< the call with `first` is still to be made, and no other one
        no_memory, ///< the calls of [first, last) are still to be made; no queue takes them
    };

    std::size_t first; ///< less than `last`
    std::size_t last;
    const void* home; ///< the thread that made the last call: compared, never followed; null: none

protected:
    repeated_task(function answer, std::size_t begin, std::size_t behind, const void* thread) noexcept
        : task(answer), first(begin), last(behind), home(thread) {}
    ~repeated_task() = default;
};

} // namespace ekiden::inline EKIDEN_ABI

/// Numbers for threads, which spread the threads over the parts of a structure.
///
/// Part: sys. Used by: pool, queue, timer.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the number of the calling thread among all threads that have ever called this function for `Use`,
/// which is any type. So threads whose first calls come one after the other have consecutive numbers. The
/// number is valid until the last instruction of the thread. Orders nothing.
template <class Use>
[[nodiscard]] std::uint32_t thread_number() noexcept {
    struct number {
        std::uint32_t plus_one; // 0 means that the thread has no number yet
    };
    static constinit atomic<std::uint32_t> last{0};
    auto& mine = local<number>();
    while (mine.plus_one == 0) mine.plus_one = last.fetch_add(1, relaxed) + 1;
    return mine.plus_one - 1;
}

} // namespace ekiden::inline EKIDEN_ABI::sys

#include <ekiden/sync/held_locks.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {
namespace {

struct held_locks {
    std::array<const void*, 32> locks;
    std::size_t count;

    const void** begin() noexcept { return locks.data(); }
    const void** end() noexcept { return locks.data() + count; }
};

} // namespace

void note_held(const void* lock) noexcept {
    auto& mine = sys::local<held_locks>();
    if (mine.count < mine.locks.size()) mine.locks[mine.count++] = lock;
}

void note_released(const void* lock) noexcept {
    auto& mine = sys::local<held_locks>();
    const void** found = std::find(mine.begin(), mine.end(), lock);
    if (found != mine.end()) *found = mine.locks[--mine.count];
}

bool is_held(const void* lock) noexcept {
    auto& mine = sys::local<held_locks>();
    return std::find(mine.begin(), mine.end(), lock) != mine.end();
}

} // namespace ekiden::inline EKIDEN_ABI

/// operator new and delete of programs of the computed machine. The memory is in the arena.
///
/// Part: computed (engine). The allocator has the parts that matter for lines: each thread has lists of free
/// blocks of its own, and takes new memory from pages of its own. A block goes to the lists of the thread
/// that has called new, as in glibc. This costs more if another thread calls delete.
#pragma once

#include <cstddef>

namespace ekiden::computed::heap {

/// Maps the arena. Aborts if the addresses are in use.
void prepare();
[[nodiscard]] void* allocate(std::size_t size, std::size_t alignment, unsigned thread);
void release(void* at) noexcept;
/// Returns whether the thread has called new for the block.
[[nodiscard]] bool is_of(const void* at, unsigned thread) noexcept;

} // namespace ekiden::computed::heap

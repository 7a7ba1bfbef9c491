/// An allocator that uses the same recycled memory as the library's tasks.
///
/// Part: adapter. Used by: from_asio, await_asio.
#pragma once

#include <ekiden/queue/recycler.hpp>

#include <cstddef>
#include <limits>
#include <new>

namespace ekiden::inline EKIDEN_ABI {

/// An allocator with recycled memory. Blocks of at most recycler::max_node bytes come from the recycler.
/// Larger blocks come from operator new. All allocators of this class are equal. Any thread may free memory
/// that another thread has allocated.
template <class T>
class recycling_allocator {
public:
    using value_type = T;

    recycling_allocator() noexcept = default;
    template <class U>
    recycling_allocator(const recycling_allocator<U>&) noexcept {} // NOLINT: implicit, as for all allocators

    /// Throws std::bad_alloc, and std::bad_array_new_length.
    [[nodiscard]] T* allocate(std::size_t n) {
        if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        const std::size_t bytes = n * sizeof(T);
        if (is_recycled(bytes)) return static_cast<T*>(recycler::allocate(recycler::size_class(bytes)));
        return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        const std::size_t bytes = n * sizeof(T);
        if (is_recycled(bytes))
            recycler::deallocate(memory, recycler::size_class(bytes));
        else
            ::operator delete(memory, bytes, std::align_val_t{alignof(T)});
    }

    template <class U>
    friend bool operator==(const recycling_allocator&, const recycling_allocator<U>&) noexcept {
        return true;
    }

private:
    static constexpr bool is_recycled(std::size_t bytes) noexcept {
        return bytes <= recycler::max_node && alignof(T) <= 64;
    }
};

} // namespace ekiden::inline EKIDEN_ABI

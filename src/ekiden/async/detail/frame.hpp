/// Allocates the memory for the frames of coroutines.
///
/// Part: async. Used by: coroutine_promise, coroutine.
#pragma once

#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A base class that allocates the frames of coroutines from recycled nodes. A frame that is larger than the
/// largest node is allocated by the global operator new. Any thread may destroy a frame. A class that is not
/// a promise may use this base class, too. The alignment of such a class may be larger than the alignment of
/// frames.
class pooled_frame {
public:
    [[nodiscard]] static void* operator new(std::size_t size) {
        if (size > recycler::max_frame) return ::operator new(size);
        return recycler::allocate(recycler::size_class(size));
    }
    static void operator delete(void* frame, std::size_t size) noexcept {
        if (size > recycler::max_frame) return ::operator delete(frame, size);
        recycler::deallocate(frame, recycler::size_class(size));
    }
    [[nodiscard]] static void* operator new(std::size_t size, std::align_val_t alignment) {
        if (is_in_node(size, alignment)) return operator new(size);
        return ::operator new(size, alignment);
    }
    static void operator delete(void* object, std::size_t size, std::align_val_t alignment) noexcept {
        if (is_in_node(size, alignment)) return operator delete(object, size);
        ::operator delete(object, size, alignment);
    }

private:
    static constexpr bool is_in_node(std::size_t size, std::align_val_t alignment) noexcept {
        return size <= recycler::max_frame && static_cast<std::size_t>(alignment) <= 64;
    }
};

namespace detail {

/// A promise whose coroutine frame is allocated by an allocator of the program. A copy of the allocator is
/// stored behind the frame.
template <class Promise, class Allocator>
class allocated_frame final : public Promise {
    struct alignas(2 * sizeof(void*)) block {
        std::byte bytes[2 * sizeof(void*)];
    };
    using traits = typename std::allocator_traits<Allocator>::template rebind_traits<block>;
    using own = typename traits::allocator_type;
    static_assert(alignof(own) <= alignof(block));

    static constexpr std::size_t blocks(std::size_t bytes) noexcept {
        return (bytes + sizeof(block) - 1) / sizeof(block);
    }
    static own* behind(void* frame, std::size_t size) noexcept {
        return reinterpret_cast<own*>(static_cast<block*>(frame) + blocks(size));
    }

public:
    using Promise::Promise;

    template <class... Args>
    [[nodiscard]] static void* operator new(std::size_t size, std::allocator_arg_t, const Allocator& given,
                                            const Args&...) {
        own allocator(given);
        void* const frame = std::to_address(traits::allocate(allocator, blocks(size) + blocks(sizeof(own))));
        ::new (static_cast<void*>(behind(frame, size))) own(std::move(allocator));
        return frame;
    }
    /// This overload is for a coroutine that is a member function or a lambda.
    template <class Object, class... Args>
    [[nodiscard]] static void* operator new(std::size_t size, const Object&, std::allocator_arg_t a,
                                            const Allocator& given, const Args&... args) {
        return operator new(size, a, given, args...);
    }
    static void operator delete(void* frame, std::size_t size) noexcept {
        own* const kept = behind(frame, size);
        own allocator(std::move(*kept));
        kept->~own();
        using pointer = typename traits::pointer;
        traits::deallocate(allocator, std::pointer_traits<pointer>::pointer_to(*static_cast<block*>(frame)),
                           blocks(size) + blocks(sizeof(own)));
    }
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

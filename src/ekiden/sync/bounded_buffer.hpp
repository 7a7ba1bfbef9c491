/// A queue of bounded capacity between producers and consumers.
///
/// Part: sync. Used by: users. The design follows the bounded buffer of Ohki and Kuno. ekiden adds the
/// function close().
#pragma once

#include <ekiden/sync/buffer_base.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The states of a bounded_buffer, for its base class buffer_base.
struct bounded_states : detail::closable_states {
    static constexpr std::uint32_t some = 1;
    static constexpr std::uint32_t full = 2;

    static constexpr state_lock::mask push_states = 1U << empty | 1U << some;
    static constexpr state_lock::mask pop_states = 1U << some | 1U << full;

    static constexpr std::uint32_t next(std::uint32_t now, std::size_t size, std::size_t capacity) noexcept {
        if (now >= closed_some) return size == 0 ? closed_empty : closed_some;
        return size == 0 ? empty : size == capacity ? full : some;
    }
};

/// A bounded first-in-first-out queue. Waiting producers and consumers are served in the order of arrival.
///
/// A channel has the same operations, and usually takes no lock. Use a channel, unless most operations wait,
/// or the program needs one of the other properties of a bounded_buffer:
///   With one producer and one consumer that are coroutines, the buffer is faster if its capacity is 1.
///   Operations that come later do not overtake waiting operations.
///   A pop has no effect if the move constructor of T throws.
///   An item needs no memory except its own.
///
/// The operations of a bounded_buffer are the member functions of buffer_base. The destructor destroys all
/// items in the queue.
template <class T>
class bounded_buffer : public buffer_base<T, bounded_states> {
    using base = buffer_base<T, bounded_states>;

public:
    /// Constructs a buffer with room for `capacity` items. Throws std::invalid_argument if `capacity` is 0.
    /// Can also throw std::bad_alloc.
    explicit bounded_buffer(std::size_t capacity) : base(base::checked(capacity, "bounded_buffer")) {}
};

} // namespace ekiden::inline EKIDEN_ABI

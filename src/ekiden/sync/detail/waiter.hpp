/// One wait on a state_lock, by a thread or by a coroutine.
///
/// Part: sync. Used by: state_lock; awaitable locks (async) through async_waiter.
#pragma once

#include <ekiden/sync/detail/wait_list.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace ekiden::inline EKIDEN_ABI {

/// A state and the number beside it in a state_lock's word.
struct state_value {
    std::uint32_t state = 0;   ///< index, below state_lock::max_states
    std::uint32_t payload = 0; ///< for the user of the lock (readers inside, arrivals), at most max_payload

    friend constexpr bool operator==(state_value, state_value) = default;
};

/// A change of the value by an operation. `context` belongs to the operation.
using state_transition = state_value (*)(void* context, state_value) noexcept;

/// The result of an attempt to take a waiter out of the queue of a lock.
enum class withdrawal : std::uint8_t {
    taken_out, ///< the wait has had no effect, and the waiter will not be resumed
    served,    ///< the operation is done, and the waiter has been resumed or is being resumed
    not_there  ///< state_lock::start() has not pushed it yet
};

/// A waiter lies on the waiting thread's stack or in a coroutine's frame. Its address, a multiple of
/// `waiter_alignment`, is stored in the lock's word without its low bits.
///
/// status       meaning                                   set by
/// waiting      the lock has it, its thread is awake      the thread, before it pushes the waiter
/// parked       the lock has it, its thread sleeps        the thread
/// granted      the operation is done                     the releaser
/// retry        the thread was woken to try again         the releaser
/// interrupted  an additional bit: a stop was requested   the stop callback
struct waiter : wait_link {
    static constexpr std::uint32_t waiting = 0;
    static constexpr std::uint32_t parked = 1;
    static constexpr std::uint32_t granted = 2;
    static constexpr std::uint32_t retry = 3;
    static constexpr std::uint32_t phase = 3;
    static constexpr std::uint32_t interrupted = 4;

    bool numbered : 1 = false; ///< takes a number when it is pushed (see state_lock::enter_numbered)
    bool pure : 1 = false;     ///< the transition reads nothing but the value: it may run and be discarded
    bool direct : 1 = false;   ///< the releaser serves it: it is never woken to try again
    bool opens : 1 = true;     ///< begins a section, see state_rules::queue_order
    bool group : 1 = false;    ///< sleeps on the lock's shared word: many are woken by one system call
    state_transition transition = nullptr;      ///< null: the waiter wants to hold the lock
    void* context = nullptr;                    ///< belongs to the operation, for transition and resume
    void (*resume)(waiter&) noexcept = nullptr; ///< set for a coroutine: posts it to its executor
    std::uint32_t number = 0;                   ///< of the arrival, if numbered
    // In another cache line than the links, because a releaser may set those while the thread goes to sleep.
    sys::atomic<std::uint32_t> status{waiting};
};

inline constexpr std::size_t waiter_alignment = 128;

/// Storage for a waiter in memory that has only the alignment of operator new, such as a coroutine frame.
class async_waiter {
public:
    async_waiter() noexcept { new (place()) waiter; }
    async_waiter(const async_waiter&) = delete;
    async_waiter& operator=(const async_waiter&) = delete;
    ~async_waiter() = default; // the waiter owns nothing, so it is not destroyed

    waiter& operator*() noexcept { return *std::launder(static_cast<waiter*>(place())); }
    waiter* operator->() noexcept { return &**this; }

private:
    static constexpr std::size_t alignment = 16; // of operator new

    void* place() noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(room_);
        return room_ + (-address & (waiter_alignment - 1));
    }

    alignas(alignment) std::byte room_[sizeof(waiter) + waiter_alignment - alignment];
};

} // namespace ekiden::inline EKIDEN_ABI

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

/// A change of value: what an operation does to the lock. `context` is the operation's own.
using state_transition = state_value (*)(void* context, state_value) noexcept;

/// What became of a waiter that somebody wanted to take out of a lock's queue.
enum class withdrawal : std::uint8_t {
    taken_out, ///< it has left no trace and will not be resumed
    served,    ///< it has what it waited for, and has been resumed or is being resumed
    not_there  ///< state_lock::start() is still at work on it
};

/// A waiter lies on the waiting thread's stack or in a coroutine's frame. Its address, a multiple of
/// `waiter_alignment`, is stored in the lock's word without its low bits.
///
/// status       meaning                                   set by
/// waiting      in the lock's hands, its thread is awake  the thread, before it hands the waiter over
/// parked       as before, the thread sleeps on status    the thread
/// granted      done: the operation has taken effect      the releaser
/// retry        try again: a wake-up is in flight         the releaser
/// interrupted  a bit beside them: a stop was requested   the stop callback
struct waiter : wait_link {
    static constexpr std::uint32_t waiting = 0;
    static constexpr std::uint32_t parked = 1;
    static constexpr std::uint32_t granted = 2;
    static constexpr std::uint32_t retry = 3;
    static constexpr std::uint32_t phase = 3;
    static constexpr std::uint32_t interrupted = 4;

    bool numbered : 1 = false; ///< takes a number when it is pushed (see state_lock::enter_numbered)
    bool pure : 1 = false;     ///< the transition reads nothing but the value: it may run and be discarded
    bool direct : 1 = false;   ///< served by the releaser: never woken just to try again
    bool opens : 1 = true;     ///< begins something, see state_rules::queue_order
    bool group : 1 = false;    ///< sleeps on the lock's shared word: many are woken by one system call
    state_transition transition = nullptr;      ///< null: the waiter wants to hold the lock
    void* context = nullptr;                    ///< the operation's own, for transition and resume
    void (*resume)(waiter&) noexcept = nullptr; ///< set for a coroutine: posts it to its executor
    std::uint32_t number = 0;                   ///< the arrival's, if numbered
    // In another cache line than the links, which a releaser may be setting while the waiter goes to sleep.
    sys::atomic<std::uint32_t> status{waiting};
};

inline constexpr std::size_t waiter_alignment = 128;

/// Room for a waiter in memory that is aligned no better than operator new aligns, such as a coroutine frame.
class async_waiter {
public:
    async_waiter() noexcept { new (place()) waiter; }
    async_waiter(const async_waiter&) = delete;
    async_waiter& operator=(const async_waiter&) = delete;
    ~async_waiter() = default; // a waiter is trivially destructible in effect: it owns nothing

    waiter& operator*() noexcept { return *std::launder(static_cast<waiter*>(place())); }
    waiter* operator->() noexcept { return &**this; }

private:
    static constexpr std::size_t alignment = 16; // what operator new gives

    void* place() noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(room_);
        return room_ + (-address & (waiter_alignment - 1));
    }

    alignas(alignment) std::byte room_[sizeof(waiter) + waiter_alignment - alignment];
};

} // namespace ekiden::inline EKIDEN_ABI

/// A waiter is an object that stands for one wait of a thread or a coroutine for a state_lock.
///
/// Part: sync. Used by: state_lock, awaitable locks of async.
#pragma once

#include <ekiden/sync/detail/wait_list.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace ekiden::inline EKIDEN_ABI {

/// The value of a state_lock, which consists of a state and a payload.
struct state_value {
    /// The index of the state, which is below state_lock::max_states.
    std::uint32_t state = 0;
    /// A number whose meaning the user of the lock defines, such as the number of readers inside. The number
    /// is at most state_lock::max_payload.
    std::uint32_t payload = 0;

    /// A transition adds this bit to its state to refuse the operation (see state_lock::run_refusable). The
    /// operation has then had no effect.
    static constexpr std::uint32_t refused = std::uint32_t{1} << 31;

    friend constexpr bool operator==(state_value, state_value) = default;
};

/// A function that computes the new value of a lock for an operation. `context` points to the data of the
/// operation.
using state_transition = state_value (*)(void* context, state_value) noexcept;

/// The result of an attempt to remove a waiter from the queue of a lock.
enum class withdrawal : std::uint8_t {
    taken_out, ///< the wait has had no effect, and the waiter will not be resumed
    served,    ///< the operation is done, and the waiter has been resumed or is being resumed
    not_there  ///< state_lock::start() has not pushed the waiter yet
};

/// A waiter is stored on the stack of the waiting thread, or in the frame of the waiting coroutine. The
/// address of a waiter is a multiple of `waiter_alignment`. The word of the lock stores the address of a
/// waiter without the lowest bits, which are 0.
struct waiter : wait_link {
    // The values of the status. The waiting thread sets the status to `waiting` or `parked`. A thread that
    // leaves the lock sets the status to `granted` or `retry`.
    static constexpr std::uint32_t waiting = 0; // the waiter is queued, and its thread is awake
    static constexpr std::uint32_t parked = 1;  // the waiter is queued, and its thread sleeps
    static constexpr std::uint32_t granted = 2; // the operation is done
    static constexpr std::uint32_t retry = 3;   // the thread was woken, and must try again

    static constexpr std::uint32_t phase = 3; // the mask of the bits that hold the values above

    // An additional bit of the status. The stop callback sets this bit when a stop is requested.
    static constexpr std::uint32_t interrupted = 4;

    bool numbered : 1 = false; ///< the waiter gets a number when it is pushed (see enter_numbered)
    bool pure : 1 = false;     ///< the transition is a pure function, so it may run again with a new value
    bool direct : 1 = false;   ///< a thread that leaves the lock must complete the operation of the waiter
    bool in_order : 1 = true;  ///< false if the operation continues a section (see conduct::continues)
    bool group : 1 = false;    ///< the thread belongs to a group that is woken together
    state_transition transition = nullptr;      ///< null means that the waiter wants to hold the lock
    void* context = nullptr;                    ///< the data of the operation, used by transition and resume
    void (*resume)(waiter&) noexcept = nullptr; ///< posts the coroutine; null if a thread waits
    std::uint32_t number = 0;                   ///< the number of the arrival, if `numbered` is set

    // The status is not in the cache line of the links, because another thread may set the links while the
    // waiting thread falls asleep.
    sys::atomic<std::uint32_t> status{waiting};
};

inline constexpr std::size_t waiter_alignment = 128;

/// Storage for a waiter in a coroutine frame, or in other memory with only the alignment that operator new
/// guarantees.
class async_waiter {
public:
    async_waiter() noexcept { new (place()) waiter; }
    async_waiter(const async_waiter&) = delete;
    async_waiter& operator=(const async_waiter&) = delete;
    ~async_waiter() = default; // does not destroy the waiter, because the waiter owns nothing

    waiter& operator*() noexcept { return *std::launder(static_cast<waiter*>(place())); }
    waiter* operator->() noexcept { return &**this; }

private:
    static constexpr std::size_t alignment = 16; // the alignment that operator new guarantees

    void* place() noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(room_);
        return room_ + (-address & (waiter_alignment - 1));
    }

    alignas(alignment) std::byte room_[sizeof(waiter) + waiter_alignment - alignment];
};

} // namespace ekiden::inline EKIDEN_ABI

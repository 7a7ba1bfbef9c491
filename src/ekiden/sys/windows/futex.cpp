#include <ekiden/sys/futex.hpp>

#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/ending.hpp>
#include <ekiden/sys/windows/timed_sleepers.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <new>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the system reads the word itself");

// WaitOnAddress() counts milliseconds, and may end a whole tick of the system's clock too late. So a wait
// with a deadline uses an event and a timer of the thread, and a table lists the thread under the word's
// address. Waits without a deadline use WaitOnAddress(), so a waker calls both.

/// What a thread needs for waits with a deadline.
struct wait_handles {
    HANDLE event; // set when the thread is woken
    HANDLE timer;
};

HANDLE make_timer() noexcept {
    constexpr DWORD high_resolution = 2; // Windows 10, 1803; older systems refuse the flag
    const HANDLE made = ::CreateWaitableTimerExW(nullptr, nullptr, high_resolution, TIMER_ALL_ACCESS);
    return made != nullptr ? made : ::CreateWaitableTimerExW(nullptr, nullptr, 0, TIMER_ALL_ACCESS);
}

wait_handles make_handles() noexcept {
    const wait_handles made{::CreateEventExW(nullptr, nullptr, 0, EVENT_ALL_ACCESS), make_timer()};
    expects(made.event != nullptr && made.timer != nullptr, "the system refuses an event or a timer");
    return made;
}

void close(const wait_handles& handles) noexcept {
    ::CloseHandle(handles.event);
    ::CloseHandle(handles.timer);
}

/// Closes the thread's handles at its end.
void close_kept(void* kept) {
    auto& handles = *static_cast<wait_handles*>(kept);
    close(handles);
    handles = {};
}

/// The handles of the calling thread. At the end of a thread, each wait has handles of its own.
class borrowed_handles {
public:
    borrowed_handles() noexcept {
        wait_handles& kept = local<wait_handles>();
        if (kept.event == nullptr) {
            handles_ = make_handles();
            is_kept_ = keep(kept);
        } else {
            handles_ = kept;
        }
    }
    ~borrowed_handles() {
        if (!is_kept_) close(handles_);
    }
    borrowed_handles(const borrowed_handles&) = delete;
    borrowed_handles& operator=(const borrowed_handles&) = delete;
    const wait_handles& operator*() const noexcept { return handles_; }

private:
    [[nodiscard]] bool keep(wait_handles& kept) const noexcept {
        try {
            if (!at_thread_exit(&close_kept, &kept)) return false;
        } catch (const std::bad_alloc&) {
            return false;
        }
        kept = handles_;
        return true;
    }

    wait_handles handles_{};
    bool is_kept_ = true;
};

/// While this object exists, the thread's probe sees that the thread sleeps.
class asleep_here {
public:
    asleep_here() noexcept : note_(local<sleep_note>()) { note_.is_asleep.store(true, relaxed); }
    ~asleep_here() { note_.is_asleep.store(false, relaxed); }
    asleep_here(const asleep_here&) = delete;
    asleep_here& operator=(const asleep_here&) = delete;

private:
    sleep_note& note_;
};

/// A wait without a limit would never end.
void refuse_wait_without_threads() noexcept {
    expects(
        !has_lost_other_threads(),
        "a wait while the process exits: the system has already ended the threads that could end the wait");
}

/// The lock of a list of sleepers.
class list_lock {
public:
    void lock() noexcept { ::AcquireSRWLockExclusive(&lock_); }
    void unlock() noexcept { ::ReleaseSRWLockExclusive(&lock_); }

private:
    SRWLOCK lock_ = SRWLOCK_INIT;
};

/// The event of timed_sleepers.
class wake_event {
public:
    explicit wake_event(const wait_handles& handles) noexcept : handles_(handles) {}

    void set() noexcept { ::SetEvent(handles_.event); }
    void reset() noexcept { ::ResetEvent(handles_.event); }
    void wait_until(clock::time_point deadline) noexcept {
        const asleep_here asleep;
        for (;;) {
            const auto left = std::min<clock::duration>(deadline - clock::now(), std::chrono::hours(1));
            if (left <= clock::duration::zero()) return;
            using system_ticks = std::chrono::duration<long long, std::ratio<1, 10'000'000>>;
            LARGE_INTEGER due{};
            due.QuadPart = -std::chrono::ceil<system_ticks>(left).count(); // negative: from now on
            expects(::SetWaitableTimer(handles_.timer, &due, 0, nullptr, nullptr, FALSE) != 0,
                    "the system refuses to set a timer");
            const std::array<HANDLE, 2> both{handles_.event, handles_.timer};
            if (::WaitForMultipleObjects(2, both.data(), FALSE, INFINITE) == WAIT_OBJECT_0) {
                ::CancelWaitableTimer(handles_.timer);
                return;
            }
        }
    }

private:
    const wait_handles& handles_;
};

using sleepers = timed_sleepers<list_lock, wake_event>;
constinit std::array<sleepers, 256> table{};

sleepers& sleepers_on(const void* address) noexcept {
    return table[(reinterpret_cast<std::uintptr_t>(address) >> 2U) % table.size()];
}

} // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    refuse_wait_without_threads();
    const asleep_here asleep;
    // WaitOnAddress() takes a pointer to memory that may change, but does not change the memory.
    auto* const address = const_cast<atomic<std::uint32_t>*>(&word);
    (void)::WaitOnAddress(address, &expected, sizeof expected, INFINITE);
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      clock::time_point deadline) noexcept {
    if (clock::now() >= deadline) return word.load(relaxed) != expected;
    const borrowed_handles handles;
    wake_event event(*handles);
    return sleepers_on(&word).wait_until(word, expected, event, deadline);
}

int futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
    const int woken = sleepers_on(&word).wake(&word, count);
    void* const address = const_cast<atomic<std::uint32_t>*>(&word);
    if (count == INT_MAX)
        ::WakeByAddressAll(address);
    else
        for (int i = woken; i < count; ++i) ::WakeByAddressSingle(address);
    return woken;
}

int futex_wake_all(const atomic<std::uint32_t>& word) noexcept { return futex_wake(word, INT_MAX); }

} // namespace ekiden::inline EKIDEN_ABI::sys

#include <ekiden/sys/futex.hpp>

#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/ending.hpp>

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
// address.

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
    const wait_handles* operator->() const noexcept { return &handles_; }

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

struct sleeper {
    const void* address;
    HANDLE event;
    sleeper* next = nullptr;
    bool is_listed = true; // the lock of the bucket protects it
};

/// The sleepers whose addresses have the same hash.
struct bucket {
    SRWLOCK lock = SRWLOCK_INIT;
    sleeper* first = nullptr;
    sleeper* last = nullptr;
    std::atomic<unsigned> count{0};
};
constinit std::array<bucket, 256> table{};

bucket& bucket_of(const void* address) noexcept {
    return table[(reinterpret_cast<std::uintptr_t>(address) >> 2U) % table.size()];
}

void add(bucket& here, sleeper& self) noexcept {
    ::AcquireSRWLockExclusive(&here.lock);
    (here.last == nullptr ? here.first : here.last->next) = &self;
    here.last = &self;
    // seq_cst: this thread writes the count and then reads the word. A waker writes the word and then reads
    // the count. One of the two sees what the other has written.
    here.count.fetch_add(1, seq_cst);
    ::ReleaseSRWLockExclusive(&here.lock);
}

/// Removes up to `most` sleepers for which `is_meant` is true, and calls `act` for each. The caller holds the
/// lock.
template <class Meant, class Act>
int remove(bucket& here, int most, Meant is_meant, Act act) noexcept {
    int removed = 0;
    sleeper* before = nullptr;
    for (sleeper* at = here.first; at != nullptr && removed < most;) {
        sleeper* const next = at->next;
        if (!is_meant(*at)) {
            before = at;
        } else {
            (before == nullptr ? here.first : before->next) = next;
            if (next == nullptr) here.last = before;
            at->is_listed = false;
            here.count.fetch_sub(1, relaxed);
            act(*at); // the sleeper may end as soon as the lock is released
            ++removed;
        }
        at = next;
    }
    return removed;
}

/// Removes the calling thread's own sleeper. Returns false if a waker has removed it.
bool withdraw(bucket& here, sleeper& self) noexcept {
    ::AcquireSRWLockExclusive(&here.lock);
    const bool was_listed = self.is_listed;
    if (was_listed) {
        (void)remove(here, 1, [&](const sleeper& other) { return &other == &self; }, [](const sleeper&) {});
    }
    ::ReleaseSRWLockExclusive(&here.lock);
    return was_listed;
}

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

/// Sleeps until the event is set or the deadline has passed.
void sleep(const wait_handles& handles, clock::time_point deadline) noexcept {
    const asleep_here asleep;
    for (;;) {
        const auto left = std::min<clock::duration>(deadline - clock::now(), std::chrono::hours(1));
        if (left <= clock::duration::zero()) return;
        using system_ticks = std::chrono::duration<long long, std::ratio<1, 10'000'000>>;
        LARGE_INTEGER due{};
        due.QuadPart = -std::chrono::ceil<system_ticks>(left).count(); // negative: from now on
        expects(::SetWaitableTimer(handles.timer, &due, 0, nullptr, nullptr, FALSE) != 0,
                "the system refuses to set a timer");
        const std::array<HANDLE, 2> both{handles.event, handles.timer};
        if (::WaitForMultipleObjects(2, both.data(), FALSE, INFINITE) == WAIT_OBJECT_0) {
            ::CancelWaitableTimer(handles.timer);
            return;
        }
    }
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
    bucket& here = bucket_of(&word);
    sleeper self{&word, handles->event};
    add(here, self);
    if (word.load(seq_cst) == expected) sleep(*handles.operator->(), deadline);
    if (withdraw(here, self)) return clock::now() < deadline || word.load(relaxed) != expected;
    // A waker has set the event, perhaps after the timer's end. The next wait must not see it.
    ::ResetEvent(handles->event);
    return true;
}

int futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
    int woken = 0;
    bucket& here = bucket_of(&word);
    fence(seq_cst); // pairs with the count in add()
    if (here.count.load(relaxed) != 0) {
        ::AcquireSRWLockExclusive(&here.lock);
        woken = remove(
            here, count, [&](const sleeper& other) { return other.address == &word; },
            [](const sleeper& other) { ::SetEvent(other.event); });
        ::ReleaseSRWLockExclusive(&here.lock);
    }
    void* const address = const_cast<atomic<std::uint32_t>*>(&word);
    if (count == INT_MAX)
        ::WakeByAddressAll(address);
    else
        for (int i = woken; i < count; ++i) ::WakeByAddressSingle(address);
    return woken;
}

int futex_wake_all(const atomic<std::uint32_t>& word) noexcept { return futex_wake(word, INT_MAX); }

} // namespace ekiden::inline EKIDEN_ABI::sys

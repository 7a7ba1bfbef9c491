#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/posix/sleep_length.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

// The functions of src/ekiden/sys/futex.hpp for systems that have no such functions. The threads that sleep
// on words with the same hash share a lock and a condition variable.
//
// A waker first changes the word, and then acquires the lock. A sleeper compares the word under the lock, and
// releases the lock only in its sleep. If the sleeper acquires the lock first, the waker wakes the sleeper.
// Otherwise the sleeper sees the change of the word. So no wake-up is lost.
//
// A signal handler must not call futex_wake(), because it may interrupt a thread that holds the lock. A build
// with this table defines EKIDEN_FUTEX_TABLE, and then the library installs no signal handlers.

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

struct bucket {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
    std::size_t sleepers = 0; // the lock protects it
};

struct sleep_table {
    std::array<bucket, 256> buckets{};
    std::atomic<pid_t> process{0}; // 0 until the static initialization
};
constinit sleep_table table;

/// In the child of a fork(), the threads that hold locks of the table do not exist, so the child gets a new
/// table. Another handler of the fork may need the table first, so each call compares the process, too.
void make_anew_in_child() noexcept {
    const pid_t process = table.process.load(relaxed);
    if (process == 0 || process == ::getpid()) return;
    ::new (&table) sleep_table;
    table.process.store(::getpid(), relaxed);
}

[[maybe_unused]] const bool is_table_made_anew =
    (table.process.store(::getpid(), relaxed), at_fork(nullptr, nullptr, &make_anew_in_child));

/// The bucket of a word. The calling thread holds the lock of the bucket.
class locked_bucket {
public:
    explicit locked_bucket(const void* word) noexcept : bucket_(of(word)) {
        (void)::pthread_mutex_lock(&bucket_.lock);
    }
    ~locked_bucket() { (void)::pthread_mutex_unlock(&bucket_.lock); }
    locked_bucket(const locked_bucket&) = delete;
    locked_bucket& operator=(const locked_bucket&) = delete;

    /// Releases the lock, sleeps until a wake-up, and acquires the lock again. `length` limits the sleep. A
    /// null `length` means that there is no limit.
    void sleep(const std::chrono::nanoseconds* length) noexcept {
        ++bucket_.sleepers;
        if (length == nullptr)
            (void)::pthread_cond_wait(&bucket_.woken, &bucket_.lock);
        else
            sleep_for(*length);
        --bucket_.sleepers;
    }

    void wake_all() noexcept {
        if (bucket_.sleepers != 0) (void)::pthread_cond_broadcast(&bucket_.woken);
    }

private:
    static bucket& of(const void* word) noexcept {
        make_anew_in_child();
        return table.buckets[(reinterpret_cast<std::uintptr_t>(word) >> 2U) % table.buckets.size()];
    }

    void sleep_for(std::chrono::nanoseconds length) noexcept {
#if !defined(__APPLE__) // this system has no relative form
        length += clock::now().time_since_epoch();
#endif
        const auto seconds = std::chrono::floor<std::chrono::seconds>(length);
        timespec time{};
        time.tv_sec = static_cast<time_t>(seconds.count());
        time.tv_nsec = static_cast<long>((length - seconds).count());
#if defined(__APPLE__)
        (void)::pthread_cond_timedwait_relative_np(&bucket_.woken, &bucket_.lock, &time);
#else
        (void)::pthread_cond_clockwait(&bucket_.woken, &bucket_.lock, CLOCK_MONOTONIC, &time);
#endif
    }

    bucket& bucket_;
};

} // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    locked_bucket here(&word);
    if (word.load(relaxed) == expected) here.sleep(nullptr);
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      clock::time_point deadline) noexcept {
    const std::chrono::nanoseconds length = sleep_length(deadline);
    if (length == std::chrono::nanoseconds::zero()) return false;
    {
        locked_bucket here(&word);
        if (word.load(relaxed) != expected) return true;
        here.sleep(&length);
    }
    return clock::now() < deadline || word.load(relaxed) != expected;
}

int futex_wake(const atomic<std::uint32_t>& word, int) noexcept {
    // The threads of a bucket may sleep on other words, so one of them must not get the only wake-up.
    locked_bucket(&word).wake_all();
    return 0; // the number of woken threads is unknown
}

int futex_wake_all(const atomic<std::uint32_t>& word) noexcept { return futex_wake(word, 1); }

} // namespace ekiden::inline EKIDEN_ABI::sys

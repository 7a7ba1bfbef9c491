/// mutex, condition_variable and call_once of the checking build, which programs use in their models.
///
/// Part: check (engine). Included by src/ekiden/check/checkable.hpp when EKIDEN_CHECKING is set. The locks in
/// this header are primitives of the engine and are assumed to be correct. In contrast, the checker checks
/// the library's own locks.
#pragma once

#include <check/engine/access.hpp>
#include <check/engine/model.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::checkable {

/// Like std::mutex. A use that is undefined behavior fails the execution.
class mutex {
    using site = std::source_location;
    static constexpr unsigned nobody = ~0U;

public:
    constexpr mutex() noexcept = default;
    ~mutex() {
        if (owner_ != nobody) check::fail("mutex destroyed while a thread holds it");
    }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock(site where = site::current()) {
        if (owner_ == check::current_thread()) check::fail("mutex locked twice by one thread", where);
        check::lock(&word_, where);
        owner_ = check::current_thread();
    }
    [[nodiscard]] bool try_lock(site where = site::current()) {
        if (owner_ == check::current_thread()) check::fail("mutex locked twice by one thread", where);
        if (!check::try_lock(&word_, where)) return false;
        owner_ = check::current_thread();
        return true;
    }
    void unlock(site where = site::current()) {
        give_up(where);
        check::unlock(&word_, where);
    }

private:
    friend class condition_variable;

    void give_up(const site& where) {
        if (owner_ != check::current_thread())
            check::fail("mutex unlocked by a thread that does not hold it", where);
        owner_ = nobody;
    }

    sys::atomic<std::uint32_t> word_{0};
    unsigned owner_ = nobody; // only the thread that holds the mutex writes it
};

/// Like std::once_flag.
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag&) = delete;
    once_flag& operator=(const once_flag&) = delete;

private:
    template <class F, class... Args>
    friend void call_once(once_flag& flag, F&& f, Args&&... args);
    sys::atomic<std::uint32_t> word_{0};
};

/// Like std::call_once. The checker's report shows no source location for it.
template <class F, class... Args>
void call_once(once_flag& flag, F&& f, Args&&... args) {
    if (!check::once_begins(&flag.word_)) return;
    try {
        (void)std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    } catch (...) {
        check::once_ends(&flag.word_, false);
        throw;
    }
    check::once_ends(&flag.word_, true);
}

/// Like std::condition_variable. A wait may return spuriously (options::spurious).
class condition_variable {
    using site = std::source_location;
    using steady_clock = sys::clock;

public:
    condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    void notify_one(site where = site::current()) noexcept {
        touch(where);
        (void)check::wake(&life_, 1, where, "notify_one");
    }
    void notify_all(site where = site::current()) noexcept {
        touch(where);
        (void)check::wake(&life_, ~0U, where, "notify_all");
    }

    void wait(std::unique_lock<mutex>& held, site where = site::current()) {
        (void)sleep(held, check::never, where);
    }
    template <class Condition>
    void wait(std::unique_lock<mutex>& held, Condition condition, site where = site::current()) {
        while (!condition()) wait(held, where);
    }

    std::cv_status wait_until(std::unique_lock<mutex>& held, steady_clock::time_point deadline,
                              site where = site::current()) {
        const auto at =
            std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
        const std::uint64_t ns = at > 0 ? static_cast<std::uint64_t>(at) : 0;
        return sleep(held, ns, where) == check::wait_result::timed_out ? std::cv_status::timeout
                                                                       : std::cv_status::no_timeout;
    }
    template <class Condition>
    bool wait_until(std::unique_lock<mutex>& held, steady_clock::time_point deadline, Condition condition,
                    site where = site::current()) {
        while (!condition()) {
            if (wait_until(held, deadline, where) == std::cv_status::timeout) return condition();
        }
        return true;
    }

    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex>& held, const std::chrono::duration<Rep, Period>& length,
                            site where = site::current()) {
        return wait_until(held, steady_clock::now() + sys::bounded(length), where);
    }
    template <class Rep, class Period, class Condition>
    bool wait_for(std::unique_lock<mutex>& held, const std::chrono::duration<Rep, Period>& length,
                  Condition condition, site where = site::current()) {
        return wait_until(held, steady_clock::now() + sys::bounded(length), std::move(condition), where);
    }

private:
    check::wait_result sleep(std::unique_lock<mutex>& held, std::uint64_t deadline, const site& where) {
        mutex& m = *held.mutex();
        touch(where);
        m.give_up(where);
        const check::wait_result woken = check::wait_unlocked(&life_, &m.word_, deadline, where);
        m.owner_ = check::current_thread();
        return woken;
    }
    /// Checks that the beginning of each call is ordered before the destruction. A wait may return after the
    /// destruction.
    void touch(const site& where) const noexcept { (void)life_.load(std::memory_order_relaxed, where); }

    sys::atomic<std::uint8_t> life_{0}; // never changes; it lets the engine detect the destruction
};

} // namespace ekiden::inline EKIDEN_ABI::checkable

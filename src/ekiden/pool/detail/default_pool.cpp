#include <ekiden/pool/default_pool.hpp>

#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/sys/fork.hpp>

#include <mutex>
#include <new>

namespace ekiden::inline EKIDEN_ABI {

namespace {

struct default_pool_place {
    sys::atomic<thread_pool*> pool{nullptr};
    sys::slow_lock making;
};
constinit default_pool_place place;

/// The child of a fork() gets a default pool of its own. The lock is not held during the fork, because the
/// fork would have to wait while another thread makes the pool. So the child gets a new lock.
[[maybe_unused]] const bool is_made_anew =
    sys::at_fork(nullptr, nullptr, [] { ::new (&place) default_pool_place; });

} // namespace

thread_pool& default_pool() {
    // [DP1] Acquire: sees the pool that another thread has made. Pairs with the release below.
    if (thread_pool* const made = place.pool.load(sys::acquire)) return *made;
    const std::lock_guard guard(place.making);
    if (thread_pool* const made = place.pool.load(sys::relaxed)) return *made;
    auto* const made = new thread_pool({.name = "default"});
    place.pool.store(made, sys::release); // [DP1]
    return *made;
}

thread_pool* detail::pool_of_this_thread() noexcept { return scheduler::of_this_thread(); }

thread_pool& this_pool() {
    thread_pool* const here = scheduler::of_this_thread();
    return here != nullptr ? *here : default_pool();
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/future/detail/completion.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void completion::unclaim() noexcept {
    // [CU1] Release: publishes what this producer did to the object. Pairs with the acquire in claim().
    status_.fetch_and(~claimed, sys::release);
}

void completion::complete(std::uint32_t references) noexcept {
    // [CO1] Release: publishes the result. Pairs with the acquires in is_ready(), sleep_until() and attach().
    // Acquire: if these are the last references, all uses by other threads happen before the object is
    // destroyed.
    const std::uint32_t before = status_.fetch_add(ready - references * reference, sys::acq_rel);
    // A sleeper may wake up without the wake call, and may then destroy the object. So the wake call uses
    // only the address of status_. In the next branch, the object still exists, because the thread that
    // attached a continuation holds a reference. In the last branch, this thread has released the last
    // reference.
    if ((before & sleeper) != 0 && !EKIDEN_MUTANT(completion_forgets_the_sleeper))
        sys::futex_wake_all(status_);
    if ((before & continued) != 0)
        call_continuations();
    else if (before / reference == references || EKIDEN_MUTANT(completion_ends_too_early))
        type()(this, task_request::dispose);
}

/// Calls the attached continuations. After `ready` has been set, detach() does not remove the last remaining
/// continuation. The thread that attached a continuation keeps a reference until the continuation has been
/// called. So this object exists until the last continuation is called.
void completion::call_continuations() noexcept {
    lock_.lock();
    continuation* at = continuations_.read();
    continuations_.write(nullptr); // From now on, detach() returns false for these continuations.
    lock_.unlock();
    while (at != nullptr) {
        // `next_` is read before the call, because the call may destroy the continuation. The last call may
        // also destroy this object.
        continuation* const older = at->next_.read();
        at->then_.read()(at->argument_.read());
        at = EKIDEN_MUTANT(completion_reads_after_the_call) ? at->next_.read() : older;
    }
}

void completion::release() noexcept {
    // Release: the uses of the object by this thread happen before its destruction. Acquire: the uses by all
    // other threads happen before this thread destroys it.
    if (status_.fetch_sub(reference, sys::acq_rel) / reference == 1) type()(this, task_request::dispose);
}

bool completion::retain_unless_ended() noexcept {
    std::uint32_t status = status_.load(sys::relaxed);
    while (status >= reference) {
        if (status_.compare_exchange_weak(status, status + reference, sys::relaxed, sys::relaxed))
            return true;
    }
    return false;
}

bool completion::wait_impl(const wait_limit* limit) noexcept {
    if (is_ready()) return true;
    if (is_left_behind()) [[unlikely]]
        return false;
    thread_role* const role = thread_record::here().role;
    return role != nullptr ? role->wait_for(*this, limit) : block(limit);
}

bool completion::wait_asleep() noexcept {
    if (is_ready()) return true;
    if (is_left_behind()) [[unlikely]]
        return false;
    if (sys::spin_until([this] { return is_ready(); })) return true;
    thread_role* const role = thread_record::here().role;
    if (role != nullptr && role->sleep_for(*this)) return true;
    const blocked_here here("a result, without running other tasks meanwhile");
    return sleep_until(nullptr);
}

bool completion::block(const wait_limit* limit) noexcept {
    if (limit != nullptr && limit->is_reached()) return is_ready(); // the caller only polls
    const bool is_far = std::exchange(thread_record::here().has_woken_a_worker, false);
    if (!is_far && sys::spin_until([this] { return is_ready(); })) return true;
    if (limit == nullptr) return sleep_until(nullptr);
    if (limit->stop().stop_possible()) return sleep_unless_stopped(*limit);
    do { // The loop repeats only if the deadline belongs to another clock, and that clock was set back.
        const sys::clock::time_point deadline = limit->deadline();
        if (sleep_until(&deadline)) return true;
    } while (!limit->is_reached());
    return is_ready();
}

/// Sleeps on an event that a continuation sets. A wait for an event supports a stop token. A sleep on status_
/// cannot support a stop token, because the object may already be destroyed when the stop is requested.
bool completion::sleep_unless_stopped(const wait_limit& limit) noexcept {
    event is_over;
    continuation sets_event([](void* self) noexcept { static_cast<event*>(self)->set(); }, &is_over);
    if (!attach(sets_event)) return true;
    // The acquire in is_set() orders the loads of the wait before the steps of detach(). The call of set() by
    // the other thread may depend on these steps.
    if (is_over.wait(limit) || is_over.is_set()) return true;
    if (detach(sets_event)) return false;
    // Another thread is calling the continuation, or will call it. So the continuation and the event must
    // exist until the event is set.
    if (!EKIDEN_MUTANT(completion_leaves_before_its_call)) is_over.wait();
    return true;
}

/// Sleeps until the result is set or `deadline` has passed. Returns whether the result is set. If `deadline`
/// is null, sleeps without a time limit.
bool completion::sleep_until(const sys::clock::time_point* deadline) noexcept {
    for (std::uint32_t status = status_.load(sys::acquire);; status = status_.load(sys::acquire)) { // [CO1]
        if ((status & ready) != 0) return true;
        if ((status & sleeper) == 0
            && !status_.compare_exchange_strong(status, status | sleeper, sys::relaxed, sys::relaxed)) {
            continue;
        }
        // The futex call returns at once if another thread has changed status_ since this thread read it.
        if (deadline == nullptr)
            sys::futex_wait(status_, status | sleeper);
        else if (!sys::futex_wait_until(status_, status | sleeper, *deadline))
            return is_ready();
    }
}

bool completion::attach(continuation& added) noexcept {
    const std::lock_guard guard(lock_);
    continuation* const before = continuations_.read();
    added.next_.write(before);
    continuations_.write(&added);
    std::uint32_t status = status_.load(sys::relaxed);
    while ((status & ready) == 0) {
        // Relaxed is enough, because the lock orders all accesses to the list.
        if (status_.compare_exchange_weak(status, status | continued, sys::relaxed, sys::relaxed))
            return true;
    }
    (void)status_.load(sys::acquire); // [CO1] Acquire, because the caller may use the result at once.
    // If there are older continuations, complete() waits for the lock and then calls the continuations in the
    // list.
    if (!EKIDEN_MUTANT(completion_keeps_the_late)) continuations_.write(before);
    return false;
}

bool completion::detach(continuation& attached) noexcept {
    const std::lock_guard guard(lock_);
    continuation* const first = continuations_.read();
    continuation* const older = attached.next_.read();
    if (first == &attached) {
        if (older == nullptr && !EKIDEN_MUTANT(completion_leaves_an_empty_list)) {
            std::uint32_t status = status_.load(sys::relaxed);
            do {
                // If `ready` is set, complete() has seen `continued` and will read the list. Relaxed is
                // enough, because this step publishes nothing. A thread that needs the result executes an
                // acquire of its own.
                if ((status & ready) != 0) return false;
            } while (!status_.compare_exchange_weak(status, status & ~continued, sys::relaxed, sys::relaxed));
        }
        continuations_.write(older);
        return true;
    }
    for (continuation* at = first; at != nullptr; at = at->next_.read()) {
        if (at->next_.read() != &attached) continue;
        at->next_.write(older);
        return true;
    }
    return false; // another thread has called the continuation, or will call it
}

} // namespace ekiden::inline EKIDEN_ABI

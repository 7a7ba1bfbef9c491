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
    // [CU1] Release: what this producer did to the object. Pairs with the acquire in claim().
    status_.fetch_and(~claimed, sys::release);
}

void completion::complete(std::uint32_t references) noexcept {
    // [CO1] Release: publishes the result. Pairs with the acquires in is_ready(), sleep_until() and attach().
    // Acquire: if these are the last references, what other threads did with the object.
    const std::uint32_t before = status_.fetch_add(ready - references * reference, sys::acq_rel);
    // A sleeper may wake up without a wake call and destroy the object. So the wake call uses only the
    // address of the word. The other two branches need the object, and a reference keeps it for them.
    if ((before & sleeper) != 0 && !EKIDEN_MUTANT(completion_forgets_the_sleeper))
        sys::futex_wake_all(status_);
    if ((before & continued) != 0)
        call_continuations();
    else if (before / reference == references || EKIDEN_MUTANT(completion_ends_too_early))
        type()(this, task_request::dispose);
}

/// Calls the attached continuations. From now on the last continuation of the list cannot be detached, so its
/// reference keeps the object until it is called.
void completion::call_continuations() noexcept {
    lock_.lock();
    continuation* at = continuations_.read();
    continuations_.write(nullptr); // from now on detach() returns false
    lock_.unlock();
    while (at != nullptr) {
        // Read before the call, because the call may destroy the continuation. The last call may destroy this
        // object, too.
        continuation* const older = at->next_.read();
        at->then_.read()(at->argument_.read());
        at = EKIDEN_MUTANT(completion_reads_after_the_call) ? at->next_.read() : older;
    }
}

void completion::release() noexcept {
    // Release: what this thread did with the object. Acquire: what other threads did with it, before the last
    // reference destroys it.
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
    if (limit != nullptr && limit->is_reached()) return is_ready(); // a poll
    const bool is_far = std::exchange(thread_record::here().has_woken_a_worker, false);
    if (!is_far && sys::spin_until([this] { return is_ready(); })) return true;
    if (limit == nullptr) return sleep_until(nullptr);
    if (limit->stop().stop_possible()) return sleep_unless_stopped(*limit);
    do { // repeats only if the deadline belongs to another clock, which was set back meanwhile
        const sys::clock::time_point deadline = limit->deadline();
        if (sleep_until(&deadline)) return true;
    } while (!limit->is_reached());
    return is_ready();
}

/// Sleeps on an event that a continuation sets. A wait for an event supports a stop token. A sleep on status_
/// does not, because the object may have been destroyed when the stop is requested.
bool completion::sleep_unless_stopped(const wait_limit& limit) noexcept {
    event is_over;
    continuation sets_event([](void* self) noexcept { static_cast<event*>(self)->set(); }, &is_over);
    if (!attach(sets_event)) return true;
    // Acquire in is_set(): the loads of the wait come before the steps of detach(), on which the other
    // thread's call of set() may depend.
    if (is_over.wait(limit) || is_over.is_set()) return true;
    if (detach(sets_event)) return false;
    // The continuation is being called, or will be. So it and the event must exist until the event is set.
    if (!EKIDEN_MUTANT(completion_leaves_before_its_call)) is_over.wait();
    return true;
}

/// Returns false if `deadline` passed first. A null `deadline` never passes.
bool completion::sleep_until(const sys::clock::time_point* deadline) noexcept {
    for (std::uint32_t status = status_.load(sys::acquire);; status = status_.load(sys::acquire)) { // [CO1]
        if ((status & ready) != 0) return true;
        if ((status & sleeper) == 0
            && !status_.compare_exchange_strong(status, status | sleeper, sys::relaxed, sys::relaxed)) {
            continue;
        }
        // If the word has changed since then, by complete() or otherwise, the wait ends at once.
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
        // Relaxed: the lock orders the list.
        if (status_.compare_exchange_weak(status, status | continued, sys::relaxed, sys::relaxed))
            return true;
    }
    (void)status_.load(sys::acquire); // [CO1] The result, which the caller may use at once.
    // If there are older continuations, complete() waits for the lock and then calls this list.
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
                // If ready is set, complete() has seen `continued` and will read the list. Relaxed: publishes
                // nothing. A thread that needs the result, or the end of the call, acquires it itself.
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
    return false; // called, or about to be
}

} // namespace ekiden::inline EKIDEN_ABI

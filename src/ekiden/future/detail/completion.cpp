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
    // [CU1] release: what the attempt has done to the object; pairs with the acquire in claim().
    status_.fetch_and(~claimed, sys::release);
}

void completion::complete(std::uint32_t references) noexcept {
    // [CO1] release: the result; pairs with the acquires in is_ready(), sleep_until() and attach(). acquire:
    // if these are the last references, what the others did with the object.
    const std::uint32_t before = status_.fetch_add(ready - references * reference, sys::acq_rel);
    // The object is touched below only while somebody must be keeping it: a sleeper may wake up by itself and
    // end it, so only the word's address is used for waking.
    if ((before & sleeper) != 0 && !EKIDEN_MUTANT(completion_forgets_the_sleeper))
        sys::futex_wake_all(status_);
    if ((before & continued) != 0)
        call_continuations();
    else if (before / reference == references || EKIDEN_MUTANT(completion_ends_too_early))
        type()(this, task_request::dispose);
}

/// Calls what was attached before the result was there. The last of the list cannot be detached any more, so
/// the object exists until that is called.
void completion::call_continuations() noexcept {
    lock_.lock();
    continuation* at = continuations_.read();
    continuations_.write(nullptr); // detach() says no from here on
    lock_.unlock();
    while (at != nullptr) {
        // Read before the call, which may end the continuation, and with the last one this object.
        continuation* const older = at->next_.read();
        at->then_.read()(at->argument_.read());
        at = EKIDEN_MUTANT(completion_reads_after_the_call) ? at->next_.read() : older;
    }
}

void completion::release() noexcept {
    // acquire: the last one ends the object after all that the others did with it; release: this side's part
    // of that.
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
    do { // again only for the deadline of another clock, which may be set back meanwhile
        const sys::clock::time_point deadline = limit->deadline();
        if (sleep_until(&deadline)) return true;
    } while (!limit->is_reached());
    return is_ready();
}

/// Sleeps on an event that a continuation sets. An event can be waited for with a stop token; a sleep on
/// status_ cannot be interrupted, because the object may be gone when the stop is requested.
bool completion::sleep_unless_stopped(const wait_limit& limit) noexcept {
    event is_over;
    continuation sets_event([](void* self) noexcept { static_cast<event*>(self)->set(); }, &is_over);
    if (!attach(sets_event)) return true;
    // The second check acquires. It keeps the loads of the wait before the steps of detach(), on which the
    // other thread's call of set() may depend.
    if (is_over.wait(limit) || is_over.is_set()) return true;
    if (detach(sets_event)) return false;
    // The continuation is being called, or will be: it and the event must stay until it has set the event.
    if (!EKIDEN_MUTANT(completion_leaves_before_its_call)) is_over.wait();
    return true;
}

/// Returns false if `deadline`, if it is not null, passed first.
bool completion::sleep_until(const sys::clock::time_point* deadline) noexcept {
    for (std::uint32_t status = status_.load(sys::acquire);; status = status_.load(sys::acquire)) { // [CO1]
        if ((status & ready) != 0) return true;
        if ((status & sleeper) == 0
            && !status_.compare_exchange_strong(status, status | sleeper, sys::relaxed, sys::relaxed)) {
            continue;
        }
        // A change of the word since then, complete() among them, ends the wait at once.
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
        // relaxed: the list itself is passed on by the lock.
        if (status_.compare_exchange_weak(status, status | continued, sys::relaxed, sys::relaxed))
            return true;
    }
    (void)status_.load(sys::acquire); // [CO1] for the caller, who may go on with the result
    // If there are older ones, complete() calls what it finds here when the lock is free.
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
                // complete() has seen that there is one, and will look for it here. relaxed: passes nothing
                // on. The result is acquired by whoever asks for it, and the end of the call by whoever
                // waits for that.
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

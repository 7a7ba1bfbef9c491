#include <ekiden/execution/detail/continuations.hpp>

#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

continuations::state continuations::add(listed_continuation& added) noexcept {
    list& here = list_of(&added);
    const std::lock_guard guard(here.lock);
    if (here.is_closed.read()) return state::refused;
    listed_continuation* const older = here.newest.read();
    added.next_.write(older);
    if (older != nullptr) older->previous_.write(&added);
    here.newest.write(&added);
    here.present.fetch_add(1, sys::relaxed);
    // The continuation is attached under the lock. So shutdown() never finds a continuation that is not
    // attached.
    return added.attach_(added) ? state::waits : state::ready;
}

void continuations::list::unlink(listed_continuation& removed) noexcept {
    listed_continuation* const next = removed.next_.read();
    listed_continuation* const previous = removed.previous_.read();
    if (next != nullptr) next->previous_.write(previous);
    if (previous != nullptr)
        previous->next_.write(next);
    else
        newest.write(next);
}

continuations::use::use(continuations& of, listed_continuation& begun) noexcept
    : of_(&of), begun_(&begun), outer_(std::exchange(sys::local<of_thread>().innermost, this)) {
    if (of.is_left_behind()) return; // nothing reads the list in the child
    list& here = of.list_of(&begun);
    const std::lock_guard guard(here.lock);
    here.unlink(begun);
}

continuations::use::~use() {
    sys::local<of_thread>().innermost = outer_;
    if (of_ != nullptr) of_->done(*this);
}

void continuations::done(const use& ended) noexcept {
    // [CN2] Release: publishes that this thread does not use the context any more. Pairs with the acquire in
    // shutdown().
    list_of(ended.begun_).present.fetch_sub(1, sys::release);
}

/// Closes the list. Removes the continuations that have not begun, and returns the first one of them. The
/// others are linked by next_.
listed_continuation* continuations::list::cancel_all() noexcept {
    const std::lock_guard guard(lock);
    is_closed.write(true);
    listed_continuation* taken = nullptr;
    for (listed_continuation* at = newest.read(); at != nullptr;) {
        listed_continuation* const next = at->next_.read();
        if (at->try_cancel()) {
            unlink(*at);
            at->next_.write(taken);
            taken = at;
        }
        at = next;
    }
    return taken;
}

void continuations::shutdown() noexcept {
    for (list& each : lists_) {
        for (listed_continuation* at = each.cancel_all(); at != nullptr;) {
            listed_continuation* const next = at->next_.read(); // the call may destroy the continuation
            at->cancel_(*at);
            each.present.fetch_sub(1, sys::relaxed);
            at = next;
        }
    }
    for (use* own = sys::local<of_thread>().innermost; own != nullptr; own = own->outer_) {
        if (own->of_ != this || EKIDEN_MUTANT(continuations_wait_for_themselves)) continue;
        done(*own);
        own->of_ = nullptr;
    }
    // Other threads may still queue or end continuations that have begun.
    for (list& each : lists_) {
        while (each.present.load(sys::acquire) != 0 && !EKIDEN_MUTANT(continuations_leave_the_begun))
            sys::yield(); // [CN2] Acquire: pairs with the release in done().
    }
}

} // namespace ekiden::inline EKIDEN_ABI::detail

/// Resumes waiting coroutines without recursion.
///
/// Part: sync. Used by: state_lock.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sync/detail/waiter.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The waiters that a thread still has to resume. If an executor refuses a coroutine, the coroutine may be
/// destroyed at once and unlock a lock. This unlock resumes the next waiter, whose coroutine may be refused
/// and destroyed as well. The list turns this recursion into a loop.
struct resuming {
    wait_link* first = nullptr;
    wait_link* last = nullptr;
};

/// Calls who.resume(). If the calling thread is inside such a call already, the outer call resumes `who`
/// later.
inline void resume_in_turn(waiter& who) noexcept {
    resuming*& outer = thread_record::here().resumed_later;
    if (outer != nullptr) {
        who.next = nullptr;
        (outer->first != nullptr ? outer->last->next : outer->first) = &who;
        outer->last = &who;
        return;
    }
    resuming mine;
    outer = &mine;
    who.resume(who);
    while (mine.first != nullptr) {
        waiter& next = static_cast<waiter&>(*mine.first);
        mine.first = next.next;
        next.resume(next);
    }
    outer = nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI

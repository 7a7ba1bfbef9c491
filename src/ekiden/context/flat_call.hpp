/// Calls that lead to each other without end, run one after the other instead of one inside of the other.
///
/// Part: context. Used by: continuations of futures, of which there may be a chain longer than a stack is
/// deep.
#pragma once

#include <ekiden/context/thread_context.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Lies with what is to be called; the call may end it.
struct flat_call {
    void (*call)(flat_call* self) noexcept = nullptr;
    flat_call* next = nullptr;
};

/// Makes the call: now, or, if the thread is inside of another one, when that has returned.
inline void run_flat(flat_call& made) noexcept {
    flat_call**& waiting = thread_record::here().flat_calls;
    if (waiting != nullptr) {
        made.next = *waiting;
        *waiting = &made;
        return;
    }
    flat_call* first = nullptr;
    waiting = &first;
    made.call(&made);
    while (first != nullptr) {
        flat_call* const at = first;
        first = at->next;
        at->call(at);
    }
    waiting = nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI

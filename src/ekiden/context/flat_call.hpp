/// Runs calls that lead to each other one after the other, not nested, so that a long chain cannot overflow
/// the stack.
///
/// Part: context. Used by: continuations of futures.
#pragma once

#include <ekiden/context/thread_context.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A pending call. It lies in the object that is to be called. The call may destroy it.
struct flat_call {
    void (*call)(flat_call* self) noexcept = nullptr;
    flat_call* next = nullptr;
};

/// Makes the call. Inside another such call of this thread, only queues it: it runs after that call has
/// returned.
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

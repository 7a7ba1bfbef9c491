/// Runs a chain of calls one after the other. Each call may start the next one, but the calls do not nest, so
/// a long chain cannot overflow the stack.
///
/// Part: context. Used by: execution.
#pragma once

#include <ekiden/context/thread_context.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A pending call. A flat_call is a member or a base class of a larger object. The function `call` works on
/// the larger object, and may destroy it.
struct flat_call {
    void (*call)(flat_call* self) noexcept = nullptr;
    flat_call* next = nullptr;
};

/// Calls made.call(). If this thread is inside another flat call, run_flat() only queues the new call. The
/// new call then runs after the other call has returned.
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

/// Runs a chain of calls one after the other. Each call may start the next one, but the calls do not nest, so
/// a long chain cannot overflow the stack.
///
/// Part: context. Used by: future, execution.
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <utility>

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

/// While this object exists, the thread counts as outside all flat calls, so run_flat() makes each call at
/// once. Used around destructors of a program's objects, because such a destructor may wait for the call.
class flat_calls_hidden {
public:
    flat_calls_hidden() noexcept
        : place_(thread_record::here().flat_calls), outer_(std::exchange(place_, nullptr)) {}
    ~flat_calls_hidden() { place_ = outer_; }
    flat_calls_hidden(const flat_calls_hidden&) = delete;
    flat_calls_hidden& operator=(const flat_calls_hidden&) = delete;

private:
    flat_call**& place_;
    flat_call** const outer_;
};

} // namespace ekiden::inline EKIDEN_ABI

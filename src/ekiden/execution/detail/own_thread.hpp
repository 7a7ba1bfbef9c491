/// Detects that a context is destroyed by one of its own threads. The destructor of such a context would wait
/// for its own thread forever.
///
/// Part: execution. Used by: pools, loops and loop pools. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/queue/task.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A scope in which the calling thread runs a function that the program has passed as an option of a context.
class hook_scope {
public:
    /// `option` is the name of the option, which must be a string literal.
    explicit hook_scope(const char* option) noexcept
        : record_(thread_record::here()), outer_(std::exchange(record_.hook, option)) {}
    ~hook_scope() { record_.hook = outer_; }
    hook_scope(const hook_scope&) = delete;
    hook_scope& operator=(const hook_scope&) = delete;

private:
    thread_record& record_;
    const char* const outer_;
};

/// Returns whether the context with the identifier `id` has started the calling thread. The result is also
/// correct in destructors of thread_local objects.
[[nodiscard]] inline bool is_started_by(context_id id) noexcept { return thread_record::here().owner == id; }

/// Ends the program with a message, because the calling thread destroys its own context. The message names
/// the cause and a remedy. `kind` is the type of the context, such as "thread_pool". `is_inside` must be true
/// if the thread still runs tasks of the context. `running` is the type of the last task, or null.
[[noreturn]] void refuse_destruction(const char* kind, bool is_inside, task::function running) noexcept;

} // namespace ekiden::inline EKIDEN_ABI

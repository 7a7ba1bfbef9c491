/// A context must not be destroyed by a thread that it has to wait for.
///
/// Part: execution. Used by: pools, loops and loop pools. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/queue/task.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Until its end the calling thread is in a function of the program's that a context was given as an option.
class hook_scope {
public:
    /// `option` is its name, a literal.
    explicit hook_scope(const char* option) noexcept
        : record_(thread_record::here()), outer_(std::exchange(record_.hook, option)) {}
    ~hook_scope() { record_.hook = outer_; }
    hook_scope(const hook_scope&) = delete;
    hook_scope& operator=(const hook_scope&) = delete;

private:
    thread_record& record_;
    const char* const outer_;
};

/// Returns whether the context named `id` has started the calling thread. True until the thread has ended:
/// also in the destructors of its thread_local objects.
[[nodiscard]] inline bool is_started_by(context_id id) noexcept { return thread_record::here().owner == id; }

/// Stops the program with a message, because the calling thread destroys a context that it belongs to. `kind`
/// is "thread_pool" and the like. `is_inside`: the thread still runs tasks of the context, the last one of
/// type `running` (null: none yet). Otherwise a thread_local object has destroyed it, or a function that the
/// context was given. The message also names what the program can do instead.
[[noreturn]] void refuse_destruction(const char* kind, bool is_inside, task::function running) noexcept;

} // namespace ekiden::inline EKIDEN_ABI

/// The state of the calling thread. The state says for which context the thread works, how the thread waits
/// in this context, and how the thread reports to the context that it blocks.
///
/// Part: context. Used by: future, sync, pool, fork.
#pragma once

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/next_number.hpp>
#include <ekiden/sys/stack.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class completion;
class fork_participant;
class post_scope;
class simulated_thread;
class wait_limit;
class worker;

/// Names a context, such as a pool or a loop. Unlike an address, an id is never reused.
class context_id {
public:
    /// Constructs an id that names no context.
    constexpr context_id(std::nullptr_t = nullptr) noexcept {} // NOLINT: nullptr converts implicitly.
    /// Returns a new id. Any thread may call this function.
    [[nodiscard]] static context_id next() noexcept;

    friend constexpr bool operator==(context_id, context_id) noexcept = default;

private:
    std::uint64_t number_ = 0;
};

inline context_id context_id::next() noexcept {
    context_id fresh;
    fresh.number_ = sys::next_number();
    return fresh;
}

/// Describes what a thread currently is for a context: a worker of a pool, or a thread in the run() of a
/// loop. Only that thread calls the functions of its role.
class thread_role {
public:
    [[nodiscard]] context_id context() const noexcept { return context_; }

    /// Waits until `awaited` is ready, or until `limit` is reached. If `limit` is null, there is no limit.
    /// Returns whether `awaited` is ready. If `limit` is null, the thread may run other work of the context
    /// meanwhile.
    [[nodiscard]] virtual bool wait_for(completion& awaited, const wait_limit* limit) noexcept = 0;

    /// Waits without a limit and runs no other work meanwhile. Returns false without waiting if the role does
    /// not support this kind of wait. If the call returns false, the caller must block the thread in another
    /// way.
    [[nodiscard]] virtual bool sleep_for(completion&) noexcept { return false; }

    /// Reports that the thread is about to sleep. `what` names the reason. The context may let another thread
    /// work meanwhile. Returns false if the thread has already reported that it sleeps. Call end_blocking()
    /// only after a call that returned true.
    [[nodiscard]] virtual bool begin_blocking(const char* what) noexcept = 0;
    virtual void end_blocking() noexcept = 0;

    /// Wakes another thread if this thread has queued tasks in the context without waking a thread for them.
    /// Called by role_scope::announce_all().
    virtual void announce() noexcept {}

    /// If this role belongs to a worker of a pool, returns the worker. Returns null for every other role.
    [[nodiscard]] virtual worker* as_worker() noexcept { return nullptr; }

protected:
    explicit thread_role(context_id context) noexcept : context_(context) {}
    ~thread_role() = default;

private:
    const context_id context_;
};

class role_scope;
class serial_scope;
class hidden_scopes;
struct flat_call;
struct resuming;

/// The part of a thread_record that describes what the current task of the thread does. Other tasks, which
/// run in the middle of this task, must not see these members. hidden_scopes hides all of them.
struct task_marks {
    const serial_scope* serial = nullptr; ///< the innermost strand or lane whose task the thread runs
    flat_call** flat_calls = nullptr;     ///< the queue of run_flat(); null while no flat call runs
    resuming* resumed_later = nullptr;    ///< the queue of resume_in_turn(); null while it does not run
    bool is_resuming = false; ///< true if the thread resumes a coroutine; posts must not wait meanwhile
    bool is_posting = false;  ///< true inside a posting_scope, where no coroutine frame may be destroyed
};

/// The library's data for each thread, except its memory for tasks.
struct thread_record : task_marks {
    thread_role* role = nullptr;             ///< the innermost role; null if the thread works for no context
    const role_scope* scope = nullptr;       ///< the scope that set `role`
    const hidden_scopes* hidden = nullptr;   ///< the innermost object that hides the task_marks
    fork_participant* participant = nullptr; ///< the thread's state in fork-join
    simulated_thread* simulation = nullptr;  ///< the simulation that the thread is in, or null.
    /// The context that started this thread, and that waits until the thread ends. `owner` is set until the
    /// thread ends, except in the child of a fork().
    context_id owner;
    const post_scope* entered = nullptr; ///< the innermost post_scope in which the thread is, or null
    const char* hook = nullptr;   ///< the option whose callback the thread is running, such as "on_stall"
    unsigned blocked = 0;         ///< number of blocked_here objects; if it is not 0, no task is deferred.
    bool runs_coroutines = false; ///< true if the thread is inside the loop that resumes coroutines
    /// True if the thread has just woken a worker, and now waits for the work of that worker. The thread then
    /// does not spin, because the worker may need the processor of this thread. If idle processors wake up
    /// slowly, the worker starts sooner on the processor that this thread gives up.
    bool has_woken_a_worker = false;
    /// The part of the stack in which waits run no other work. set_stack_reserve() sets both members. Until
    /// then, `stack_reserve` is 0.
    std::uintptr_t stack_low = 0;
    std::size_t stack_reserve = 0;

    /// Reserves the last `reserve` bytes of the calling thread's stack. With 0, reserves an eighth of the
    /// stack, but at most 1 MiB. Reserves nothing if the system does not tell where the stack lies.
    void set_stack_reserve(std::size_t reserve) noexcept {
        const sys::stack_range stack = sys::this_thread_stack();
        stack_low = stack.low;
        if (reserve == 0) reserve = std::min(stack.size / 8, std::size_t{1} << 20U);
        stack_reserve = std::min(reserve, stack.size);
    }
    /// Returns true if the calling function runs in the reserved part of the stack. Returns false on a stack
    /// of the program, such as the stack of a fiber.
    [[nodiscard]] EKIDEN_ALWAYS_INLINE bool is_stack_low() const noexcept {
        return sys::stack_address() - stack_low < stack_reserve;
    }

    [[nodiscard]] static thread_record& here() noexcept { return sys::local<thread_record>(); }
};

/// Gives the calling thread a role while this object exists. The destructor does not access the role, because
/// another thread may already use it.
class role_scope {
public:
    explicit role_scope(thread_role& role) noexcept
        : record_(thread_record::here()), role_(role), outer_(record_.scope),
          participant_(std::exchange(record_.participant, nullptr)) {
        record_.role = &role;
        record_.scope = this;
    }
    ~role_scope() {
        record_.role = outer_ != nullptr ? &outer_->role_ : nullptr;
        record_.scope = outer_;
        record_.participant = participant_;
    }
    role_scope(const role_scope&) = delete;
    role_scope& operator=(const role_scope&) = delete;

    /// Calls `visit(role)` for each role of the thread, the innermost role first, until a call returns a
    /// result that is not null. Returns this result, or null. A thread has several roles if it is inside
    /// several contexts.
    template <class Visit>
    [[nodiscard]] static auto first(Visit&& visit) -> decltype(visit(*thread_record::here().role)) {
        for (const role_scope* s = thread_record::here().scope; s != nullptr; s = s->outer_) {
            if (const auto found = visit(s->role_)) return found;
        }
        return nullptr;
    }

    /// Wakes other threads for all deferred tasks of the calling thread, so that no task waits for this
    /// thread. Call announce_all() before the thread sleeps or leaves a context. The constructor of
    /// blocked_here calls announce_all().
    static void announce_all() noexcept {
        for (const role_scope* s = thread_record::here().scope; s != nullptr; s = s->outer_)
            s->role_.announce();
    }

    /// Returns the calling thread's role for `context`, or null.
    [[nodiscard]] static thread_role* find(context_id context) noexcept {
        thread_role* const innermost = thread_record::here().role;
        if (innermost == nullptr || innermost->context() == context) return innermost;
        return find_outer(context);
    }

private:
    [[nodiscard]] EKIDEN_NOINLINE static thread_role* find_outer(context_id context) noexcept {
        return first([context](thread_role& role) { return role.context() == context ? &role : nullptr; });
    }

    thread_record& record_;
    thread_role& role_;
    const role_scope* const outer_;
    fork_participant* const participant_;
};

/// While this object exists, the calling thread sleeps, or is about to sleep. The thread runs no task of its
/// context meanwhile. Every wait of the library creates such an object on its slow path. Programs use
/// blocking_region, which contains such an object.
class [[nodiscard]] blocked_here {
public:
    /// `what` is a text for reports, and must outlive this object.
    explicit blocked_here(const char* what) noexcept : record_(thread_record::here()) {
        ++record_.blocked;
        if (record_.role == nullptr) return;
        role_scope::announce_all();
        if (record_.role->begin_blocking(what)) role_ = record_.role;
    }
    ~blocked_here() {
        if (role_ != nullptr) role_->end_blocking();
        --record_.blocked;
    }
    blocked_here(const blocked_here&) = delete;
    blocked_here& operator=(const blocked_here&) = delete;

private:
    thread_record& record_;
    thread_role* role_ = nullptr; // null if the destructor need not call end_blocking()
};

} // namespace ekiden::inline EKIDEN_ABI

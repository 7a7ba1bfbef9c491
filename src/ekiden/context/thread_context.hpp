/// Where the calling thread is: which context it works for, how it waits there, how it says that it blocks.
///
/// Part: context. Used by: future (how to wait), sync (says that it blocks), pool and fork (set it).
#pragma once

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/next_number.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class completion;
class fork_party;
class simulated_thread;
class wait_limit;
class worker;

/// Names a context, such as a pool or a loop. Unlike its address it is never used again.
class context_id {
public:
    /// Names none.
    constexpr context_id(std::nullptr_t = nullptr) noexcept {} // NOLINT: as a pointer has it
    /// One that is new. Any thread.
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

/// What a thread is while it works for an execution context: a worker of a pool, or the thread in a loop's
/// run(). Its thread alone calls it.
class thread_role {
public:
    [[nodiscard]] context_id context() const noexcept { return context_; }

    /// Waits until `awaited` is ready, or until `limit`, if it is not null, is reached. Returns whether it is
    /// ready. Without a limit, the role may run other work of the context meanwhile.
    [[nodiscard]] virtual bool wait_for(completion& awaited, const wait_limit* limit) noexcept = 0;

    /// Waits without a limit, and runs no other work meanwhile. Returns false if the role has no way of its
    /// own to do so; then it has not waited, and the caller sleeps.
    [[nodiscard]] virtual bool sleep_for(completion&) noexcept { return false; }

    /// The thread is about to sleep, for `what`: the context may have another one do its work meanwhile.
    /// False if it has said so already; only a call that returned true is ended.
    [[nodiscard]] virtual bool begin_blocking(const char* what) noexcept = 0;
    virtual void end_blocking() noexcept = 0;

    /// Wakes another thread for the tasks that this thread has queued in the context without waking one.
    /// Called by role_scope::announce_all().
    virtual void announce() noexcept {}

    /// Returns the worker of a pool that the thread is in this role; null in every other role.
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

/// What the library keeps for each thread besides its memory.
struct thread_record {
    thread_role* role = nullptr;            ///< the innermost one; null in a thread that works for no context
    const role_scope* scope = nullptr;      ///< that gave it
    const serial_scope* serial = nullptr;   ///< the innermost of the strands and lanes whose task it runs
    flat_call** flat_calls = nullptr;       ///< see run_flat(); null while none runs
    const hidden_scopes* hidden = nullptr;  ///< what `serial` and `flat_calls` were before, the innermost
    fork_party* party = nullptr;            ///< with which it takes part in fork-join
    simulated_thread* simulation = nullptr; ///< that it is in; null but in tests of programs
    /// The context that has started this thread and waits for its end; set until that end.
    context_id owner;
    const char* hook = nullptr; ///< the name of the context's option whose function the thread is in
    unsigned blocked = 0;       ///< how many blocked_here there are: what is queued now is told to others
    /// The thread has just woken the worker that will do what it waits for. To spin meanwhile would keep a
    /// processor from that worker, and where processors sleep deeply the system starts it sooner on the one
    /// that this thread leaves.
    bool has_woken_a_worker = false;

    [[nodiscard]] static thread_record& here() noexcept { return sys::local<thread_record>(); }
};

/// Gives the calling thread a role, until its end. Then it does not touch the role any more: another thread
/// may have it.
class role_scope {
public:
    explicit role_scope(thread_role& role) noexcept
        : record_(thread_record::here()), role_(role), outer_(record_.scope),
          party_(std::exchange(record_.party, nullptr)) {
        record_.role = &role;
        record_.scope = this;
    }
    ~role_scope() {
        record_.role = outer_ != nullptr ? &outer_->role_ : nullptr;
        record_.scope = outer_;
        record_.party = party_;
    }
    role_scope(const role_scope&) = delete;
    role_scope& operator=(const role_scope&) = delete;

    /// What `visit(role)` returns for the innermost of the thread's roles for which that is not null; or
    /// null. A thread may be inside several contexts at once.
    template <class Visit>
    [[nodiscard]] static auto first(Visit&& visit) -> decltype(visit(*thread_record::here().role)) {
        for (const role_scope* s = thread_record::here().scope; s != nullptr; s = s->outer_) {
            if (const auto found = visit(s->role_)) return found;
        }
        return nullptr;
    }

    /// Before the calling thread sleeps, or leaves a context: no task that it has queued waits for it. All
    /// that sleeps calls this, blocked_here first of all.
    static void announce_all() noexcept {
        for (const role_scope* s = thread_record::here().scope; s != nullptr; s = s->outer_)
            s->role_.announce();
    }

    /// The calling thread's role for `context`, or null.
    [[nodiscard]] static thread_role* find(context_id context) noexcept {
        thread_role* const innermost = thread_record::here().role;
        if (innermost == nullptr || innermost->context() == context) return innermost;
        return first([context](thread_role& role) { return role.context() == context ? &role : nullptr; });
    }

private:
    thread_record& record_;
    thread_role& role_;
    const role_scope* const outer_;
    fork_party* const party_;
};

/// The calling thread sleeps, or is about to, for something other than a task of its context. What sleeps in
/// this library says so with it, on its slow path; programs use blocking_region, which is made of it.
class [[nodiscard]] blocked_here {
public:
    /// `what` is shown in reports and must outlive this.
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
    thread_role* role_ = nullptr; // null: nothing to end
};

} // namespace ekiden::inline EKIDEN_ABI

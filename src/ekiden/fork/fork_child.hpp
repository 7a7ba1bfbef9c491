/// The scope in which a thread forks calls, and the forked call. A forked call is a node on the stack of the
/// forking thread.
///
/// Part: fork. Used by: programs, parallel_invoke(), forked_loop. A forked callable can take a scope as its
/// parameter. fork_join.md describes the protocol.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class fork_participant;
class fork_scope;

/// The variables of a forking thread that other threads write. Private.
struct alignas(sys::isolation) fork_request {
    // asked      meaning                                                set by
    // nothing    a child is published, or no child can be published     set by share()
    // restock    no child is published; the next fork publishes one     set by a thief, or by the owner
    // wanted     a thread searches for work, or sleeps                  set by the searcher, or by share()
    enum : std::uint32_t { nothing, restock, wanted };
    // [AS1] The participant's thread reads this cache line at each fork. Other threads write to the cache
    // line only if they want work.
    sys::atomic<std::uint32_t> asked{nothing};
};

/// A place where a thread can fork calls. parallel_invoke() passes a scope to its callables.
///
/// Thread safety: only the thread that runs the callable may use the scope.
/// Lifetime: the scope is valid during the call of the callable. Do not use a scope inside a nested call that
/// gets a scope of its own.
class fork_scope {
public:
    fork_scope(const fork_scope&) = delete;
    fork_scope& operator=(const fork_scope&) = delete;

    /// Returns true if another thread asks for work and this thread has no forked call to offer. When
    /// is_work_wanted() returns true, a long loop should fork its remaining iterations. If this thread has a
    /// forked call to offer, offers this call and returns false. Costs one relaxed load if no thread asks for
    /// work.
    [[nodiscard]] bool is_work_wanted() noexcept {
        return participant_->asked.load(sys::relaxed) == fork_request::wanted && !share();
    }

    /// Offers to other threads all calls that this thread has forked and that have not begun. The oldest
    /// calls are offered first, and at most 32 calls are on offer at a time. Costs two fences for each call
    /// that is offered. A thread that waits for a result inside a call may run other calls meanwhile. In
    /// these other calls, offer_all() has no effect.
    ///
    /// A thread answers requests for work only when it forks. So call offer_all() before work that takes long
    /// and forks no calls. Call offer_all() and is_work_wanted() only on the newest scope of the thread.
    void offer_all() noexcept;

protected:
    explicit fork_scope(fork_request* participant) noexcept : participant_(participant) {}
    ~fork_scope() = default;

    [[nodiscard]] bool is_asked() const noexcept {
        return participant_->asked.load(sys::relaxed) != fork_request::nothing;
    }

    /// Answers a request for work, usually by publishing the oldest private child. Returns false if there is
    /// no child to publish.
    bool share() noexcept;

    friend class fork_child;
    friend class fork_participant;
    friend struct fork_segment;

    fork_request* participant_; // the thread's participant
    fork_scope* newer_;         // the child that was forked in this scope; valid until the child is joined
};

/// A forked call. A child lies on the stack of its parent, which is the call that forked the child. The child
/// is also the scope for the call that the parent runs after the fork. A child is private to its thread until
/// the thread publishes the child.
class fork_child : public fork_scope {
public:
    /// A function that runs the child in a thread other than the parent's thread.
    using function = void (*)(fork_child* self, fork_scope& scope) noexcept;

protected:
#if defined(__GNUC__) && !defined(__clang__)
// g++ 14 warns, because the pointer newer_ may outlive the child. In fact, newer_ is read only while the
// child exists.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
    fork_child(function run, fork_scope& scope) noexcept : fork_scope(scope.participant_), run_(run) {
        scope.newer_ = this;
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    ~fork_child() {
        if (is_published()) shared_.~publication();
    }

    /// Publishes the thread's oldest private child if another thread asks for work. Call this after the
    /// construction of the child.
    void offer() noexcept {
        if (is_asked()) [[unlikely]]
            share();
    }

    /// Joins this child, which must be the newest child that has not been joined. Returns true if the parent
    /// must run the child. Returns false if another thread has run the child and stored the result.
    [[nodiscard]] bool take_back() noexcept { return !is_published() || reclaim(); }

    [[nodiscard]] bool is_published() const noexcept { return run_ == nullptr; }

private:
    friend class fork_participant;

    // state     meaning                                              set by
    // begun     a thread runs the child, or may steal it             set by the publication, or the parent
    // awaited   a thread has stolen the child; the parent sleeps     set by the waiting parent
    // done      the result of the child is stored                    set by the thread that ran the child
    enum : std::uint32_t { begun, awaited, done };

    [[nodiscard]] EKIDEN_COLD bool reclaim() noexcept;

    // run_ is null once the child is published. Each member outside of `shared_` costs a store at every fork.
    function run_;
    struct publication {
        function run;
        fork_scope* older; // the scope in which the child was forked
        sys::atomic<std::uint32_t> state{begun};
        sys::atomic<fork_participant*> thief{nullptr}; // the participant that runs the child, or null
        sys::atomic<std::uint64_t> first_own{0};       // index of the first child that the thief forks inside
    };
    union {
        publication shared_; // valid once published
    };
};

// ---- private: exceptions

namespace detail {

/// The exception of one callable, and the exceptions that were suppressed inside that callable.
struct fork_errors {
    std::exception_ptr thrown;
    std::unique_ptr<exception_list> suppressed; // null if no exception was suppressed
};

/// Returns the exception that is being handled, and its suppressed exceptions.
[[nodiscard]] EKIDEN_COLD fork_errors caught_fork_errors() noexcept;
/// Combines the exceptions of two calls. The result throws the exception of `first` and suppresses all other
/// exceptions. If `first` is empty, the result throws the exception of `second`.
[[nodiscard]] EKIDEN_COLD fork_errors joined(fork_errors first, fork_errors second) noexcept;
/// Throws the exception of `errors`. Afterwards, suppressed_exceptions() returns the suppressed exceptions.
[[noreturn]] EKIDEN_COLD void throw_fork_errors(fork_errors errors);

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

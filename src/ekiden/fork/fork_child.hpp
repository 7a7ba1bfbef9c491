/// The scope in which a thread forks, and the forked call: a node on its stack.
///
/// Part: fork. Used by: programs, as the parameter of a forked callable; parallel_invoke(), forked_loop. The
/// protocol: fork_join.md.
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
    // nothing    a child is published, or there is none to publish      share
    // restock    no child is published: the next fork publishes one     thief, the participant's thread
    // wanted     a thread searches for work, or sleeps                  the searcher, share
    enum : std::uint32_t { nothing, restock, wanted };
    // [AS1] The participant's thread reads this cache line at each fork. Other threads only write it if they
    // want work.
    sys::atomic<std::uint32_t> asked{nothing};
};

/// A place where a thread can fork. parallel_invoke() gives one to its callables.
///
/// Thread safety: only the thread that runs the callable uses it.
/// Lifetime: valid during the call, but not inside of calls that get a scope of their own.
class fork_scope {
public:
    fork_scope(const fork_scope&) = delete;
    fork_scope& operator=(const fork_scope&) = delete;

    /// Returns whether another thread asks for work and this thread has none to give away. Then a long loop
    /// should fork the rest of its iterations. If the thread has forked calls, gives one away and returns
    /// false. Costs one relaxed load if no thread asks.
    [[nodiscard]] bool is_work_wanted() noexcept {
        return participant_->asked.load(sys::relaxed) == fork_request::wanted && !share();
    }

    /// Offers to other threads all calls that this thread has forked and that have not begun, the oldest
    /// first. At most 32 are on offer at a time. Has no effect in a call that this thread runs while it waits
    /// for a result inside another call. Costs two fences for each forked call.
    ///
    /// Requests are answered at forks only. So call this before something that takes long and forks nothing,
    /// for the newest scope, like is_work_wanted().
    void offer_all() noexcept;

protected:
    explicit fork_scope(fork_request* participant) noexcept : participant_(participant) {}
    ~fork_scope() = default;

    [[nodiscard]] bool is_asked() const noexcept {
        return participant_->asked.load(sys::relaxed) != fork_request::nothing;
    }

    /// Answers the request: publishes the oldest private child. Returns false if there is nothing to publish.
    bool share() noexcept;

    friend class fork_child;
    friend class fork_participant;
    friend struct fork_segment;

    fork_request* participant_; // the thread's participant
    fork_scope* newer_;         // the child that was forked from this scope; valid until that child is joined
};

/// A forked call, on the stack of the call that forked it. Also the scope of the call that runs meanwhile.
/// Private to its thread until the thread publishes it.
class fork_child : public fork_scope {
public:
    /// Runs the child in a thread other than its parent's.
    using function = void (*)(fork_child* self, fork_scope& scope) noexcept;

protected:
#if defined(__GNUC__) && !defined(__clang__)
// g++ 14 assumes that the link outlives the child. The link is read only while the child exists.
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

    /// Called after the construction. Publishes the oldest child if a thread asks.
    void offer() noexcept {
        if (is_asked()) [[unlikely]]
            share();
    }

    /// Joins the newest child that has not been joined. Returns true if the parent must run it. Returns false
    /// if another thread has run it and stored its result.
    [[nodiscard]] bool take_back() noexcept { return !is_published() || reclaim(); }

    [[nodiscard]] bool is_published() const noexcept { return run_ == nullptr; }

private:
    friend class fork_participant;

    // state     meaning                                         set by
    // begun     a thread runs it, or may steal it               publication, the waiting parent
    // awaited   like begun, and the parent sleeps               the waiting parent
    // done      its result is stored                            the thread that ran it
    enum : std::uint32_t { begun, awaited, done };

    [[nodiscard, gnu::cold]] bool reclaim() noexcept;

    function run_; // null once published. Each word outside of `shared_` costs a store at every fork.
    struct publication {
        function run;
        fork_scope* older; // the scope that it was forked from
        sys::atomic<std::uint32_t> state{begun};
        sys::atomic<fork_participant*> thief{nullptr}; // the participant that runs it, once it has begun
        sys::atomic<std::uint64_t> first_own{0};       // where the thief's own children begin in its ring
    };
    union {
        publication shared_; // valid once published
    };
};

// ---- private: exceptions

namespace detail {

/// The exception of one callable, and the exceptions that were suppressed inside it.
struct fork_errors {
    std::exception_ptr thrown;
    std::unique_ptr<exception_list> suppressed; // null if there are none
};

/// Returns the exception being handled, and the exceptions that were suppressed on the way.
[[nodiscard, gnu::cold]] fork_errors caught_fork_errors() noexcept;
/// Returns the first exception, with the others as suppressed ones. One of the two may be empty.
[[nodiscard, gnu::cold]] fork_errors joined(fork_errors first, fork_errors second) noexcept;
/// Throws the exception, and keeps the suppressed ones for suppressed_exceptions().
[[noreturn, gnu::cold]] void throw_fork_errors(fork_errors errors);

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

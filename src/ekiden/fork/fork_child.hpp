/// Where a thread forks, and what it forks: a node on its stack.
///
/// Part: fork. Used by: programs, as the parameter of what they fork; parallel_invoke(), forked_loop. The
/// protocol: fork_join.md.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class fork_party;
class fork_scope;

/// What others write of a thread that forks. Private.
struct alignas(sys::isolation) fork_request {
    // asked      meaning                                            set by
    // nothing    there is a published child, or nothing to publish  share
    // restock    none is published: the next fork does it           thief, the party's thread
    // wanted     somebody looks for work                            who looks, share while somebody sleeps
    enum : std::uint32_t { nothing, restock, wanted };
    // [AS1] On a line that else only the party's thread reads, at each fork.
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
        return party_->asked.load(sys::relaxed) == fork_request::wanted && !share();
    }

    /// Offers all calls to other threads that this thread has forked and that have not begun, the oldest
    /// first. At most 32 are on offer at a time. Requests are answered at forks only, so call this before
    /// something that takes long and forks nothing. Call it for the newest scope, like is_work_wanted(). Has
    /// no effect in a call that this thread runs while it waits for a result inside of another call. Costs
    /// two fences for each forked call.
    void offer_all() noexcept;

protected:
    explicit fork_scope(fork_request* party) noexcept : party_(party) {}
    ~fork_scope() = default;

    [[nodiscard]] bool is_asked() const noexcept {
        return party_->asked.load(sys::relaxed) != fork_request::nothing;
    }

    /// Answers the request: publishes the oldest private child. False if there is nothing to take.
    bool share() noexcept;

    friend class fork_child;
    friend class fork_party;
    friend struct fork_segment;

    fork_request* party_; // of the thread
    fork_scope* newer_;   // the next one that was forked from this one; valid while that is not joined
};

/// A forked call, on the stack of the call that forked it, and the scope of the call that runs meanwhile.
/// Private to its thread until that publishes it.
class fork_child : public fork_scope {
public:
    /// Runs the child in another thread than its parent's.
    using function = void (*)(fork_child* self, fork_scope& scope) noexcept;

protected:
#if defined(__GNUC__) && !defined(__clang__)
// g++ 14 takes the link for one that outlives the child. It is looked at only while the child is there.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
    fork_child(function run, fork_scope& scope) noexcept : fork_scope(scope.party_), run_(run) {
        scope.newer_ = this;
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    ~fork_child() {
        if (is_published()) shared_.~publication();
    }

    /// After the construction: publishes the oldest child if somebody asks.
    void offer() noexcept {
        if (is_asked()) [[unlikely]]
            share();
    }

    /// True if the parent runs it, and it is no child any more; false if another thread has run it: its
    /// result is there. Of the newest child that has not been joined.
    [[nodiscard]] bool take_back() noexcept { return !is_published() || reclaim(); }

    [[nodiscard]] bool is_published() const noexcept { return run_ == nullptr; }

private:
    friend class fork_party;

    // state_    meaning                                         set by
    // begun     somebody runs it, or it waits to be taken       publication, the waiting parent
    // awaited   and the parent sleeps                           the waiting parent
    // done      its result is there                             who ran it
    enum : std::uint32_t { begun, awaited, done };

    [[nodiscard, gnu::cold]] bool reclaim() noexcept;

    function run_; // null once published: each word here is a store of every fork
    struct publication {
        function run;
        fork_scope* older; // that it was forked from
        sys::atomic<std::uint32_t> state{begun};
        sys::atomic<fork_party*> thief{nullptr}; // who runs it, once it has begun
        sys::atomic<std::uint64_t> first_own{0}; // where the thief's own children begin in its ring
    };
    union {
        publication shared_; // valid once published
    };
};

// ---- private: what is thrown

namespace detail {

/// What one callable has thrown, and what was suppressed inside of it.
struct fork_errors {
    std::exception_ptr thrown;
    std::unique_ptr<exception_list> suppressed; // null if nothing was
};

/// The exception being handled, and those that were suppressed on the way.
[[nodiscard, gnu::cold]] fork_errors caught_fork_errors() noexcept;
/// The first one, with the others as suppressed ones. One of the two may be empty.
[[nodiscard, gnu::cold]] fork_errors joined(fork_errors first, fork_errors second) noexcept;
/// Throws, and keeps what is suppressed for suppressed_exceptions().
[[noreturn, gnu::cold]] void throw_fork_errors(fork_errors errors);

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

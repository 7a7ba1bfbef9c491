/// Calls that may run in parallel, at about the cost of plain calls.
///
/// Part: fork. Used by: programs, the parallel algorithms beside it. The protocol: fork_join.md.
///
/// parallel_invoke(f, g) calls f, and offers g to others only if none of this thread's older calls is on
/// offer already, or more threads have asked for work; otherwise it calls g itself afterwards. Lazy task
/// creation (E. Mohr, D. A. Kranz, R. H. Halstead 1991) with requests polled by the victim (as in U. A. Acar,
/// A. Charguéraud, M. Rainwater, PPoPP 2013), and the oldest child given away first. What is new: the request
/// also stands for workers that sleep, so that nobody searches in vain and nobody is forgotten.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class fork_party;
class fork_scope;
class thread_pool;

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

/// A place where a thread can fork. Given to the callables of parallel_invoke(); valid during the call, for
/// the thread that runs it, and not inside of calls that pass a scope of their own.
class fork_scope {
public:
    fork_scope(const fork_scope&) = delete;
    fork_scope& operator=(const fork_scope&) = delete;

    /// Whether somebody asks this thread for work, and it has forked nothing that it could give away: then a
    /// long loop does well to fork the rest of itself. Otherwise gives away what it has. One relaxed load
    /// unless somebody asks.
    [[nodiscard]] bool should_split() noexcept {
        return party_->asked.load(sys::relaxed) == fork_request::wanted && !share();
    }

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
    fork_child(function run, fork_scope& scope) noexcept : fork_scope(scope.party_), run_(run) {
        scope.newer_ = this;
    }
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

/// What went wrong in the calls of the last parallel_invoke() or parallel algorithm that threw in this
/// thread, besides the exception that it threw: in the order of the callables. The next fork-join call of
/// this thread, outside of any other, empties the list. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::exception_ptr> suppressed_exceptions();

/// What parallel_invoke() calls: with nothing, or with the scope for forks of its own.
template <class F>
concept fork_callable = std::invocable<F, fork_scope&> || std::invocable<F>;

// ---- private: the parts of parallel_invoke()

namespace detail {

/// What one callable has thrown, and what was suppressed inside of it.
struct fork_errors {
    std::exception_ptr thrown;
    std::vector<std::exception_ptr>* suppressed = nullptr; // owned by whoever throws it
};

/// Calls `body(argument, scope)` as the root of a fork tree: in this thread, with the workers of `pool`
/// (null: the pool whose worker this thread is, or default_pool()) invited. Its exception passes through.
void enter_fork_tree(thread_pool* pool, void (*body)(void* argument, fork_scope& scope), void* argument);

/// The same for a callable that returns something.
template <class Body>
auto in_fork_tree(thread_pool* pool, Body&& body) {
    using result = std::invoke_result_t<Body&, fork_scope&>;
    if constexpr (std::is_void_v<result>) {
        enter_fork_tree(
            pool,
            [](void* argument, fork_scope& scope) {
                (*static_cast<std::remove_reference_t<Body>*>(argument))(scope);
            },
            std::addressof(body));
    } else {
        struct call {
            Body& body;
            std::optional<result> value;
        } root{body, std::nullopt};
        enter_fork_tree(
            pool,
            [](void* argument, fork_scope& scope) {
                auto* const self = static_cast<call*>(argument);
                self->value.emplace(self->body(scope));
            },
            &root);
        return std::move(*root.value);
    }
}

/// The exception being handled, and those that were suppressed on the way.
[[nodiscard, gnu::cold]] fork_errors caught_fork_errors() noexcept;
/// The first one, with the others as suppressed ones. One of the two may be empty.
[[nodiscard, gnu::cold]] fork_errors joined(fork_errors first, fork_errors second) noexcept;
/// Throws, and keeps what is suppressed for suppressed_exceptions().
[[noreturn, gnu::cold]] void throw_fork_errors(fork_errors errors);

/// Results come as tuples: empty for void.
template <class F>
auto fork_call(F&& f, fork_scope& scope) {
    const auto call = [&]() -> decltype(auto) {
        if constexpr (std::invocable<F, fork_scope&>)
            return std::invoke(std::forward<F>(f), scope);
        else
            return std::invoke(std::forward<F>(f));
    };
    using result = decltype(call());
    if constexpr (std::is_void_v<result>) {
        call();
        return std::tuple<>();
    } else {
        return std::tuple<result>(call());
    }
}

template <class... F>
using fork_result = decltype(std::tuple_cat(fork_call(std::declval<F>(), std::declval<fork_scope&>())...));

/// The callables of a child: small trivial temporaries are copied, so that calling costs no detour; others
/// are referred to.
template <class F>
using fork_held =
    std::conditional_t<!std::is_reference_v<F> && std::is_trivially_copyable_v<F> && sizeof(F) <= 32, F, F&&>;

/// `F...` are as in std::forward.
template <class... F>
class forked_call final : public fork_child {
public:
    using result = fork_result<F...>;

    explicit forked_call(fork_scope& scope, F&... f) noexcept
        : fork_child(run_here_, scope), held_(static_cast<F&&>(f)...) {
        offer();
    }
    ~forked_call() {}

    using fork_child::take_back;

    /// The result of a call that another thread has ended. Throws its exception, or what join_and_keep() has
    /// kept.
    [[gnu::cold, gnu::noinline]] result stolen_result() {
        struct end {
            forked_call& self;
            ~end() { self.destroy_outcome(); }
        } guard{*this};
        if (has_thrown_) throw_fork_errors(std::move(errors_));
        return std::move(value_);
    }

    /// After an exception of the parent, which is being handled: waits for the end. Then rethrow().
    [[gnu::cold, gnu::noinline]] void join_and_keep(fork_scope& scope) noexcept {
        fork_errors first = caught_fork_errors();
        fork_errors second;
        if (take_back()) {
            try {
                call(scope);
            } catch (...) {
                second = caught_fork_errors();
            }
        } else {
            if (has_thrown_) second = std::move(errors_);
            destroy_outcome();
        }
        ::new (static_cast<void*>(&errors_)) fork_errors(joined(std::move(first), std::move(second)));
        has_thrown_ = true;
    }

private:
    static void run(fork_child* base, fork_scope& scope) noexcept {
        auto* const self = static_cast<forked_call*>(base);
        try {
            ::new (static_cast<void*>(std::addressof(self->value_))) result(self->call(scope));
            self->has_thrown_ = false;
        } catch (...) {
            ::new (static_cast<void*>(&self->errors_)) fork_errors(caught_fork_errors());
            self->has_thrown_ = true;
        }
    }

    result call(fork_scope& scope) {
        return std::apply([&](auto&... f) -> result { return parallel_invoke(scope, std::forward<F>(f)...); },
                          held_);
    }

    void destroy_outcome() noexcept {
        if (has_thrown_)
            errors_.~fork_errors();
        else
            value_.~result();
    }

    // volatile: read at each fork. The compiler would keep the address in a register, and each call save it.
    static inline const volatile function run_here_ = &run;

    std::tuple<fork_held<F>...> held_;
    bool has_thrown_; // this and the outcome: valid once another thread has run it
    union {
        result value_;
        fork_errors errors_;
    };
};

/// `f` refers to callables of the types `Callables`: the first half by this thread, the other one as one child: so none is passed on more than log n times, and
/// a thief gets half of them.
///
/// Always inlined, and without a throw: neither clang nor g++ keeps the frame out of calls that do not fork
/// if an exception leaves from here, and of calls in a row they inline the first few only.
template <class Callables, class References, std::size_t... First, std::size_t... Second>
[[gnu::always_inline]] inline auto invoke_halves(fork_scope& scope, References f, std::index_sequence<First...>,
                                                 std::index_sequence<Second...>) {
    constexpr std::size_t half = sizeof...(First);
    std::optional<fork_result<std::tuple_element_t<First, Callables>...>> first;
    { // The child's life ends before its call if this thread makes it: a tail call may become a loop.
        forked_call<std::tuple_element_t<half + Second, Callables>...> child(scope, std::get<half + Second>(f)...);
        bool is_whole = true;
        try {
            first.emplace(parallel_invoke(child, std::get<First>(std::move(f))...));
        } catch (...) {
            is_whole = false;
            child.join_and_keep(scope);
        }
        if (!is_whole || !child.take_back()) [[unlikely]]
            return std::tuple_cat(*std::move(first), child.stolen_result());
    }
    return std::tuple_cat(*std::move(first), parallel_invoke(scope, std::get<half + Second>(std::move(f))...));
}

} // namespace detail

// ---- the calls

/// Calls all, possibly in parallel, and returns a tuple of what they return, in the order of the callables
/// and without the voids. Each is called exactly once, with `scope` of its own if it takes one: the first one
/// by this thread, the others by this thread or by workers that look for work. All have ended on return, and
/// their effects are visible. If some throw, all others still run to their end; then the exception of the
/// first of them, in the order of the callables, is thrown, and suppressed_exceptions() has the others.
///
/// While this thread waits for a call that another one has taken, it runs calls that were forked inside of
/// that one, and never anything else: a lock held across this call is safe unless the callables themselves
/// take it, and the stack grows about as deep as that of plain calls. So a call must not wait for a task of
/// the pool: the worker that would run the task may be the one that waits for the call.
///
/// This form is for callables that were given a scope; about 2 ns per call.
template <fork_callable F, fork_callable... More>
[[gnu::always_inline]] inline detail::fork_result<F, More...> parallel_invoke(fork_scope& scope, F&& f, More&&... more) {
    if constexpr (sizeof...(More) == 0) {
        return detail::fork_call(std::forward<F>(f), scope);
    } else {
        constexpr std::size_t half = (sizeof...(More) + 1) / 2;
        return detail::invoke_halves<std::tuple<F, More...>>(
            scope, std::forward_as_tuple(std::forward<F>(f), std::forward<More>(more)...),
            std::make_index_sequence<half>(), std::make_index_sequence<1 + sizeof...(More) - half>());
    }
}

/// As above, as the root of a fork tree of its own: with the workers of `pool`. Any thread may call it; it
/// takes part itself. Threads that are no workers share the pool's attention as workers do.
template <fork_callable... F>
    requires(sizeof...(F) > 0)
auto parallel_invoke(thread_pool& pool, F&&... f) {
    return detail::in_fork_tree(
        &pool, [&](fork_scope& scope) { return parallel_invoke(scope, std::forward<F>(f)...); });
}

/// As above, with the pool whose worker the calling thread is, or else with default_pool().
template <fork_callable... F>
    requires(sizeof...(F) > 0)
auto parallel_invoke(F&&... f) {
    return detail::in_fork_tree(
        nullptr, [&](fork_scope& scope) { return parallel_invoke(scope, std::forward<F>(f)...); });
}

} // namespace ekiden::inline EKIDEN_ABI

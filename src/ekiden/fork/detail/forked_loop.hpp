/// Loops whose iterations fork: a fork of a number of calls that is known at run time.
///
/// Part: fork. Used by: parallel_invoke(), parallel_for(). Private.
///
/// One child stands for all iterations that have not begun, instead of one for each split: while nobody takes
/// it, the loop goes on and takes them off it one by one. So an iteration costs less than a fork. A thread
/// that takes the child halves it while it is large, so that it is not given to and fro for each iteration; a
/// small one becomes a loop of the same kind, whose rest is on offer at once, and so as many threads take
/// part as it has iterations.
#pragma once

#include <ekiden/fork/fork_child.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// What the threads share that make such a loop, if it has no options. Otherwise: loop_run.
class plain_run {
public:
    [[nodiscard]] bool is_over() const noexcept { return is_over_.load(sys::relaxed); }
    void end() noexcept { is_over_.store(true, sys::relaxed); }
    void advance(std::size_t) const noexcept {}
    [[nodiscard]] static constexpr std::size_t grain() noexcept { return 1; }

private:
    sys::atomic<bool> is_over_{false};
};

/// Calls `call(scope, place)` for places. An exception ends the run, and so the loop in all threads. `Run`:
/// plain_run or loop_run&.
template <class Run, class Call>
class forked_loop {
public:
    explicit forked_loop(Call call) noexcept : call_(call) {}
    forked_loop(Run run, Call call) noexcept : run_(run), call_(call) {}

    /// All of [first, last), in order where nobody takes part. Not inlined: the last calls of a recursion,
    /// most of all, would pay for the frame of a loop that they do not make.
    [[gnu::noinline]] void operator()(fork_scope& scope, std::size_t first, std::size_t last) {
        while (first != last && !run_.is_over()) {
            rest others(*this, scope, first + 1, last);
            bool is_whole = true;
            try {
                for (;;) {
                    const bool can_split = last - first > run_.grain();
                    if (can_split) others.offer();
                    call_(can_split ? static_cast<fork_scope&>(others) : scope, first);
                    run_.advance(1);
                    ++first;
                    if (others.is_published() || run_.is_over()) [[unlikely]]
                        break;
                    if (first == last) return;
                    others.set_first(first + 1);
                }
            } catch (...) {
                is_whole = false;
                others.join_and_keep();
            }
            if (others.finish(is_whole)) return;
        }
    }

private:
    /// All of [first, last) by a thread that has taken them.
    void halve(fork_scope& scope, std::size_t first, std::size_t last) {
        if (run_.is_over()) return;
        if (last - first <= small) return (*this)(scope, first, last);
        const std::size_t middle = first + (last - first + 1) / 2;
        parallel_invoke(
            scope, [this, first, middle](fork_scope& s) { halve(s, first, middle); },
            [this, middle, last](fork_scope& s) { halve(s, middle, last); });
    }
    static constexpr std::size_t small = 16;

    /// The iterations that have not begun.
    class rest final : public fork_child {
    public:
        rest(forked_loop& loop, fork_scope& scope, std::size_t first, std::size_t last) noexcept
            : fork_child(run_here_, scope), loop_(loop), first_(first), last_(last) {}
        ~rest() {}

        using fork_child::is_published;
        using fork_child::offer;
        void set_first(std::size_t first) noexcept { first_ = first; } // while it is private

        /// After an exception of the parent, which is being handled: waits for the others. Then finish().
        [[gnu::cold, gnu::noinline]] void join_and_keep() noexcept {
            fork_errors own = caught_fork_errors();
            loop_.run_.end();
            keep(joined(std::move(own), is_published() && !take_back() ? kept() : fork_errors()));
        }

        /// When this may be another thread's, or the run is over. False if nobody has taken these iterations:
        /// the loop goes on. Throws what has been thrown in them, and what was kept.
        [[gnu::cold, gnu::noinline]] bool finish(bool is_whole) {
            if (is_whole && !is_published()) return true;
            if (is_whole && take_back()) return false;
            fork_errors errors = kept();
            if (errors.thrown != nullptr) throw_fork_errors(std::move(errors));
            return true;
        }

    private:
        static void run(fork_child* base, fork_scope& scope) noexcept {
            auto* const self = static_cast<rest*>(base);
            try {
                self->loop_.halve(scope, self->first_, self->last_);
                self->keep({});
            } catch (...) {
                self->keep(caught_fork_errors());
            }
        }

        void keep(fork_errors errors) noexcept {
            ::new (static_cast<void*>(&errors_)) fork_errors(std::move(errors));
        }
        fork_errors kept() noexcept {
            fork_errors errors = std::move(errors_);
            errors_.~fork_errors();
            return errors;
        }

        // volatile: as in forked_call.
        static inline const volatile function run_here_ = &run;

        forked_loop& loop_;
        std::size_t first_;
        const std::size_t last_;
        union {
            fork_errors errors_; // valid once another thread has run it, or join_and_keep()
        };
    };

    Run run_;
    const Call call_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// Loops whose iterations fork: they fork a number of calls that is known at run time.
///
/// Part: fork. Used by: parallel_invoke(), parallel_for(). Private.
///
/// One child stands for all iterations that have not begun. While no thread steals it, the loop removes one
/// iteration after the other from it. So an iteration costs less than a fork. A thread that steals the child
/// halves it while it is large, so that threads do not steal it from each other for each iteration. A small
/// child becomes a loop of the same kind. So as many threads take part as there are iterations.
#pragma once

#include <ekiden/fork/fork_child.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The state that the threads of such a loop share if it has no options. With options this is loop_run.
class plain_run {
public:
    [[nodiscard]] bool is_over() const noexcept { return is_over_.load(sys::relaxed); }
    void end() noexcept { is_over_.store(true, sys::relaxed); }
    void advance(std::size_t) const noexcept {}
    [[nodiscard]] static constexpr std::size_t grain() noexcept { return 1; }

private:
    sys::atomic<bool> is_over_{false};
};

/// Calls `call(scope, i)` for numbers `i`. An exception ends the run, and so the loop in all threads. `Run`
/// is plain_run or loop_run.
template <class Run, class Call>
class forked_loop {
public:
    forked_loop(Run& run, Call call) noexcept : run_(run), call_(call) {}

    /// Makes all calls of [first, last), in order if no other thread takes part. It is not inlined, because
    /// the leaves of a recursion would pay for the frame of a loop that they do not run.
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
    /// Makes all calls of [first, last) in a thread that has stolen them.
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

        /// Waits for the iterations after an exception of the parent, which is being handled. Then finish()
        /// throws.
        [[gnu::cold, gnu::noinline]] void join_and_keep() noexcept {
            fork_errors own = caught_fork_errors();
            loop_.run_.end();
            keep(joined(std::move(own), is_published() && !take_back() ? kept() : fork_errors()));
        }

        /// Joins the iterations if the child was published or the run is over. Returns false if no thread has
        /// stolen them, so that the loop continues. Throws their exceptions, and those that were kept.
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

        // volatile: like in forked_call.
        static inline const volatile function run_here_ = &run;

        forked_loop& loop_;
        std::size_t first_;
        const std::size_t last_;
        union {
            fork_errors errors_; // valid once another thread has run it, or join_and_keep()
        };
    };

    Run& run_;
    const Call call_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

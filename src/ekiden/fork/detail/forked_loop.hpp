/// Loops whose iterations can fork calls themselves. The number of iterations is known only at run time.
///
/// Part: fork. Used by: parallel_invoke(), parallel_for(). Private.
///
/// One child stands for all iterations that have not begun. Until another thread steals the child, the loop
/// removes the iterations from the child one by one. So an iteration costs less than a fork. A thief of a
/// large child splits the child into two halves. So threads need not steal the child from each other for each
/// iteration. A thief of a small child runs the child as a loop of the same kind. So every iteration can run
/// in a different thread.
#pragma once

#include <ekiden/fork/fork_child.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The state that all threads of a forked loop share. This class is for loops without options. Loops with
/// options use loop_run.
class plain_run {
public:
    [[nodiscard]] bool is_over() const noexcept { return is_over_.load(sys::relaxed); }
    void end() noexcept { is_over_.store(true, sys::relaxed); }
    void advance(std::size_t) const noexcept {}
    [[nodiscard]] static constexpr std::size_t grain() noexcept { return 1; }

private:
    sys::atomic<bool> is_over_{false};
};

/// Calls `call(scope, i)` for each number `i` of a range. If a call throws, the loop ends in all threads.
/// `Run` is plain_run or loop_run.
template <class Run, class Call>
class forked_loop {
public:
    forked_loop(Run& run, Call call) noexcept : run_(run), call_(call) {}

    /// Makes the calls for all numbers of [first, last). The calls are in order if no other thread takes
    /// part. This function must not be inlined. If this function were inlined, each call of a recursion would
    /// set up the stack frame of the loop, even a call that runs no loop.
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
    /// Makes the calls for all numbers of [first, last) in a thread that has stolen these calls.
    void halve(fork_scope& scope, std::size_t first, std::size_t last) {
        if (run_.is_over()) return;
        if (last - first <= small) return (*this)(scope, first, last);
        const std::size_t middle = first + (last - first + 1) / 2;
        parallel_invoke(
            scope, [this, first, middle](fork_scope& s) { halve(s, first, middle); },
            [this, middle, last](fork_scope& s) { halve(s, middle, last); });
    }
    static constexpr std::size_t small = 16;

    /// The child that stands for all iterations that have not begun.
    class rest final : public fork_child {
    public:
        rest(forked_loop& loop, fork_scope& scope, std::size_t first, std::size_t last) noexcept
            : fork_child(run_here_, scope), loop_(loop), first_(first), last_(last) {}
        ~rest() {}

        using fork_child::is_published;
        using fork_child::offer;
        /// Call this only while the child is private.
        void set_first(std::size_t first) noexcept { first_ = first; }

        /// Waits for the stolen iterations after a call of this loop has thrown. Call this in the handler of
        /// the exception. join_and_keep() stores the exception. Afterwards, finish() throws all stored
        /// exceptions.
        [[gnu::cold, gnu::noinline]] void join_and_keep() noexcept {
            fork_errors own = caught_fork_errors();
            loop_.run_.end();
            keep(joined(std::move(own), is_published() && !take_back() ? kept() : fork_errors()));
        }

        /// Joins the child if it was published. Returns false if no thread has stolen the child. If finish()
        /// returns false, this thread must continue the loop. Returns true if all iterations have ended or
        /// are left out. Throws the exceptions of the stolen iterations, and the exceptions that
        /// join_and_keep() has stored.
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

        // This pointer is volatile for the reason that forked_call explains.
        static inline const volatile function run_here_ = &run;

        forked_loop& loop_;
        std::size_t first_;
        const std::size_t last_;
        union {
            fork_errors errors_; // constructed by keep()
        };
    };

    Run& run_;
    const Call call_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

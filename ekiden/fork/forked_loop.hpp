/// Loops whose iterations fork: a fork of a number of calls that is known at run time.
///
/// Part: fork. Used by: parallel_for. Private.
///
/// One child stands for the younger half of the iterations that are left, instead of one child for each
/// split: while nobody takes it, the loop goes on into it and sets it to half of what is left then. So an
/// iteration costs less than a fork, and who takes the child gets as much as from binary splitting.
#pragma once

#include <ekiden/fork/fork_join.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
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

    /// All of [first, last), in order where nobody takes part. Not inlined: a recursion's last calls, most of
    /// all, would pay for the frame of a loop that they do not make.
    [[gnu::noinline]] void operator()(fork_scope& scope, std::size_t first, std::size_t last) {
        if (first == last || run_.is_over()) return;
        rest younger(*this, scope, middle(first, last), last);
        bool is_whole = true;
        try {
            for (;;) {
                const bool can_split = last - first > run_.grain();
                call_(can_split ? static_cast<fork_scope&>(younger) : scope, first);
                run_.advance(1);
                ++first;
                if (younger.is_published() || run_.is_over()) [[unlikely]]
                    break;
                if (first == last) return;
                if (first == younger.first()) younger.set_first(middle(first, last));
                if (last - first > run_.grain()) younger.offer();
                if (younger.is_published()) [[unlikely]]
                    break;
            }
        } catch (...) {
            is_whole = false;
            younger.join_and_keep(scope);
        }
        younger.finish(scope, first, is_whole);
    }

private:
    static std::size_t middle(std::size_t first, std::size_t last) noexcept {
        return first + (last - first + 1) / 2;
    }

    /// The younger half of what is left.
    class rest final : public fork_child {
    public:
        rest(forked_loop& loop, fork_scope& scope, std::size_t first, std::size_t last) noexcept
            : fork_child(run_here_, scope), loop_(loop), first_(first), last_(last) {}
        ~rest() {}

        using fork_child::is_published;
        using fork_child::offer;
        [[nodiscard]] std::size_t first() const noexcept { return first_; }
        void set_first(std::size_t first) noexcept { first_ = first; } // while it is private

        /// After an exception of the parent, which is being handled: waits for the others. Then finish().
        [[gnu::cold, gnu::noinline]] void join_and_keep(fork_scope& scope) noexcept {
            fork_errors own = caught_fork_errors();
            loop_.run_.end();
            keep(joined(std::move(own), join(scope)));
        }

        /// When this may be another thread's, or the run is over: makes the parent's iterations from `place`,
        /// and these too if nobody has taken them. Throws what anybody has thrown, also what was kept.
        [[gnu::cold, gnu::noinline]] void finish(fork_scope& scope, std::size_t place, bool is_whole) {
            fork_errors errors;
            if (!is_whole) {
                errors = kept();
            } else if (is_published()) {
                errors = attempt(*this, place, first_);
                errors = joined(std::move(errors), join(scope));
            }
            if (errors.thrown != nullptr) throw_fork_errors(std::move(errors));
        }

    private:
        static void run(fork_child* base, fork_scope& scope) noexcept {
            auto* const self = static_cast<rest*>(base);
            self->keep(self->attempt(scope, self->first_, self->last_));
        }

        fork_errors attempt(fork_scope& scope, std::size_t first, std::size_t last) const noexcept {
            try {
                loop_(scope, first, last);
                return {};
            } catch (...) {
                return caught_fork_errors();
            }
        }

        fork_errors join(fork_scope& scope) noexcept {
            if (!is_published()) return {};
            return take_back() ? attempt(scope, first_, last_) : kept();
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

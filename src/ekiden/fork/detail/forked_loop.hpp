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
#include <ekiden/sys/mutant.hpp>

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
    [[nodiscard]] static constexpr bool is_limited() noexcept { return false; }
    [[nodiscard]] static constexpr bool take_place() noexcept { return true; }
    static constexpr void release_place() noexcept {}

    /// Calls `f(scope)` and `g(scope)`, which run two pieces of a loop. The calls may run in parallel.
    template <class F, class G>
    void fork_pieces(fork_scope& scope, F& f, G& g);

private:
    sys::atomic<bool> is_over_{false};
};

/// Two pieces of a loop whose number of threads is limited. Each of the pieces has a place. The piece that
/// ends first releases its place. The place of the other piece is left for the parent of both.
template <class Run>
class two_pieces {
public:
    explicit two_pieces(Run& run) noexcept : run_(run) {}

    /// Call this at the end of each piece.
    void end_one() noexcept {
        if (!one_has_ended_.exchange(true, sys::relaxed) || EKIDEN_MUTANT(loop_releases_both_places))
            run_.release_place();
    }

    struct end_of_one {
        explicit end_of_one(two_pieces& both) noexcept : both_(both) {}
        ~end_of_one() { both_.end_one(); }
        end_of_one(const end_of_one&) = delete;
        end_of_one& operator=(const end_of_one&) = delete;

    private:
        two_pieces& both_;
    };

private:
    Run& run_;
    sys::atomic<bool> one_has_ended_{false};
};

template <>
class two_pieces<plain_run> {
public:
    explicit two_pieces(plain_run&) noexcept {}
    void end_one() noexcept {}
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
    EKIDEN_NOINLINE void operator()(fork_scope& scope, std::size_t first, std::size_t last) {
        while (first != last && !run_.is_over()) {
            if (run_.is_limited() && !run_.take_place()) {
                alone(scope, first++);
                continue;
            }
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
    /// Makes one call, and offers no other call meanwhile.
    void alone(fork_scope& scope, std::size_t place) {
        try {
            call_(scope, place);
            run_.advance(1);
        } catch (...) {
            run_.end();
            throw;
        }
    }

    /// Makes the calls for all numbers of [first, last) in a thread that has stolen these calls.
    void halve(fork_scope& scope, std::size_t first, std::size_t last) {
        if (run_.is_over()) return;
        if (last - first <= small) return (*this)(scope, first, last);
        const std::size_t middle = first + (last - first + 1) / 2;
        const auto left = [this, first, middle](fork_scope& s) { halve(s, first, middle); };
        const auto right = [this, middle, last](fork_scope& s) { halve(s, middle, last); };
        run_.fork_pieces(scope, left, right);
    }
    static constexpr std::size_t small = 16;

    /// The child that stands for all iterations that have not begun.
    class rest final : public fork_child {
    public:
        rest(forked_loop& loop, fork_scope& scope, std::size_t first, std::size_t last) noexcept
            : fork_child(run_here_, scope), loop_(loop), first_(first), last_(last), places_(loop.run_) {}
        ~rest() {
            if (loop_.run_.is_limited() && !is_published()) loop_.run_.release_place();
        }

        using fork_child::is_published;
        using fork_child::offer;
        /// Call this only while the child is private.
        void set_first(std::size_t first) noexcept { first_ = first; }

        /// Waits for the stolen iterations after a call of this loop has thrown. Call this in the handler of
        /// the exception. join_and_keep() stores the exception. Afterwards, finish() throws all stored
        /// exceptions.
        EKIDEN_COLD EKIDEN_NOINLINE void join_and_keep() noexcept {
            fork_errors own = caught_fork_errors();
            loop_.run_.end();
            keep(detail::joined(std::move(own), is_published() && !join() ? kept() : fork_errors()));
        }

        /// Joins the child if it was published. Returns false if no thread has stolen the child. If finish()
        /// returns false, this thread must continue the loop. Returns true if all iterations have ended or
        /// are left out. Throws the exceptions of the stolen iterations, and the exceptions that
        /// join_and_keep() has stored.
        EKIDEN_COLD EKIDEN_NOINLINE bool finish(bool is_whole) {
            if (is_whole && !is_published()) return true;
            if (is_whole && join()) return false;
            fork_errors errors = kept();
            if (errors.thrown != nullptr) detail::throw_fork_errors(std::move(errors));
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
            self->end_one();
        }

        /// Joins the published child. Returns true if no thread has stolen it.
        bool join() noexcept {
            end_one(); // this thread runs no call while it waits
            return take_back();
        }

        void end_one() noexcept {
            if (loop_.run_.is_limited()) places_.end_one();
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
        [[no_unique_address]] two_pieces<Run> places_; // of the current call, and of this child
        union {
            fork_errors errors_; // constructed by keep()
        };
    };

    Run& run_;
    const Call call_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

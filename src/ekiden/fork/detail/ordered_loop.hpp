/// A loop whose threads take the pieces in order, from left to right.
///
/// Part: fork. Used by: parallel_find, parallel_any_of, parallel_scan. Private.
///
/// Each thread takes the next piece, runs it, and takes another piece. While a thread runs pieces, it offers
/// one forked call to the other threads: to take pieces, too. When another thread has stolen this call, the
/// thread forks the next one. So the stack has one level for each thread that has joined. No thread waits for
/// a piece of another thread.
#pragma once

#include <ekiden/fork/detail/parallel_loop.hpp>

#include <cstddef>
#include <optional>

namespace ekiden::inline EKIDEN_ABI::detail {

/// `Pieces` has a type `hand`, which is the state of one thread, and two functions. `take(hand, size)`
/// returns a std::optional with the next piece of at least about `size` iterations. The result is empty if
/// the thread must leave the loop. `run(hand, piece)` runs the piece. `piece.size()` is the number of its
/// iterations.
template <class Pieces>
class ordered_loop {
public:
    ordered_loop(loop_run& run, Pieces& pieces, step_aim aim) noexcept
        : run_(run), pieces_(pieces), aim_(aim) {}

    /// Runs pieces until none is left for this thread.
    void operator()(fork_scope& scope) {
        worker mine{loop_step(run_, aim_), {}};
        work(scope, mine);
    }

private:
    struct worker {
        loop_step pace;
        typename Pieces::hand hand;
    };

    void work(fork_scope& scope, worker& mine) {
        bool goes_on = true;
        while (goes_on) {
            if (!run_.has_place()) {
                goes_on = step(scope, mine);
                continue;
            }
            goes_on = false;
            sys::atomic<bool> has_helper{false};
            run_.fork_pieces(
                scope,
                [&](fork_scope& s) {
                    const bool has_forked = &s != &scope; // false if another thread has taken the last place
                    while (step(s, mine)) {
                        // Relaxed is enough, because a late answer only delays the next fork.
                        if (has_helper.load(sys::relaxed)) return work(s, mine);
                        if (!has_forked) {
                            goes_on = true;
                            return;
                        }
                    }
                },
                [&](fork_scope& s) {
                    if (&s == &scope) return; // no other thread has stolen the call, and no piece is left
                    has_helper.store(true, sys::relaxed);
                    (*this)(s);
                });
        }
    }

    /// Runs one piece. Returns false if there is none.
    [[nodiscard]] bool step(fork_scope& scope, worker& mine) {
        if (run_.is_over()) return false;
        return run_.ended_by_throw([&] {
            auto piece = pieces_.take(mine.hand, mine.pace.size());
            if (!piece) return false;
            if (mine.pace.may_be_long())
                scope.offer_all();
            else
                (void)scope.is_work_wanted(); // offers the forked call if a thread asks for work
            mine.pace.begin();
            const std::size_t size = piece->size();
            pieces_.run(mine.hand, *piece);
            mine.pace.end();
            run_.advance(size);
            return true;
        });
    }

    loop_run& run_;
    Pieces& pieces_;
    const step_aim aim_;
};

/// Runs the pieces of a loop with `total` iterations. Returns false if a stop was requested before the end.
template <class Pieces>
bool run_in_order(thread_pool* pool, std::size_t total, const loop_options& options, Pieces& pieces,
                  step_aim aim) {
    static constinit loop_history history; // all loops with this type of pieces share this history
    loop_run run(options, total);
    ordered_loop<Pieces> loop(run, pieces, aim);
    if (total != 0 && !run.is_over()) detail::in_fork_tree(pool, loop, total > 1 ? &history : nullptr);
    return !run.is_over();
}

} // namespace ekiden::inline EKIDEN_ABI::detail

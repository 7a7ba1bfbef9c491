// The places of a loop with a limit of concurrency: no more threads than places, and two pieces release one.
#include <check/engine/model.hpp>
#include <ekiden/fork/detail/parallel_loop.hpp>
#include <ekiden/sys/thread.hpp>

namespace loop_limit_models {

namespace {

using namespace ekiden;
using detail::loop_run;
using detail::two_pieces;

void two_threads_want_one_place() {
    const loop_options options{.concurrency = 2};
    loop_run run(options, 4);
    int inside = 1; // the root piece
    const auto piece = [&] {
        if (!run.take_place()) return;
        check::that(++inside <= 2, "at most two threads run the loop");
        (void)run.has_place(); // another thread can run here
        --inside;
        run.release_place();
    };
    sys::thread second(piece);
    piece();
    second.join();
}

void two_pieces_end() {
    const loop_options options{.concurrency = 2};
    loop_run run(options, 4);
    check::that(run.take_place(), "the place of the second piece");
    {
        two_pieces<loop_run> both(run);
        sys::thread second([&] { both.end_one(); });
        both.end_one();
        second.join();
    }
    check::that(run.take_place(), "one of the two pieces has released its place");
    check::that(!run.has_place(), "the place of the other piece is left for the parent");
}

} // namespace

EKIDEN_MODEL(loop_limit, .about = "two threads want the last place of a loop", .preemptions = 4) {
    two_threads_want_one_place();
}
EKIDEN_MODEL(loop_limit_exceeded, .about = "a thread acquires a place that is not free", .preemptions = 4,
             .mutant = "loop_exceeds_its_limit") {
    two_threads_want_one_place();
}
EKIDEN_MODEL(loop_places, .about = "two pieces of a limited loop end at the same time", .preemptions = 4) {
    two_pieces_end();
}
EKIDEN_MODEL(loop_places_released_twice, .about = "both pieces release their places", .preemptions = 4,
             .mutant = "loop_releases_both_places") {
    two_pieces_end();
}

} // namespace loop_limit_models

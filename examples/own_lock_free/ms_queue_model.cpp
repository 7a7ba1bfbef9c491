#include "ms_queue.hpp"

#include <ekiden/check/model.hpp>

using namespace ekiden;

namespace {

void push_and_pop_in_two_threads() {
    int pushed = 0;
    int popped = 0;
    {
        ms_queue<int, 2> queue;
        const auto work = [&](std::size_t number, int value) {
            ms_queue<int, 2>::handle mine(queue, number);
            pushed += value;
            mine.push(value);
            const std::optional<int> got = mine.pop();
            check::that(got.has_value(), "as many values are there as pops");
            popped += *got;
        };
        checkable::thread other([&] { work(1, 10); });
        work(0, 1);
        other.join();
    }
    check::that(popped == pushed, "each value is popped once");
}

} // namespace

EKIDEN_MODEL(ms_queue_loses_nothing, .about = "two threads push and pop", .preemptions = 2) {
    push_and_pop_in_two_threads();
}

EKIDEN_MODEL(ms_queue_hands_over, .about = "two threads push, one pops", .preemptions = 2) {
    ms_queue<int, 3> queue;
    const auto push = [&](std::size_t number) { ms_queue<int, 3>::handle(queue, number).push(7); };
    checkable::thread one(push, 1);
    checkable::thread two(push, 2);
    check::that(ms_queue<int, 3>::handle(queue, 0).pop().value_or(7) == 7, "what is popped was pushed");
    one.join();
    two.join();
}

EKIDEN_MODEL(ms_queue_frees_at_once, .about = "https://github.com/BeRo1985/pasmp/issues/15",
             .mutant = "pop_frees_at_once") {
    push_and_pop_in_two_threads();
}

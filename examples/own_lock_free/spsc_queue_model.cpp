#include "spsc_queue.hpp"

#include <ekiden/check/model.hpp>

#include <cstdint>

using namespace ekiden;

namespace {

void three_through_a_queue_of_two() {
    spsc_queue<int, 2> queue(SIZE_MAX); // the counters wrap around at once
    checkable::thread producer([&] {
        for (int i = 1; i <= 3; ++i) {
            while (!queue.try_push(i)) checkable::this_thread::yield();
        }
    });
    for (int expected = 1; expected <= 3;) {
        if (const std::optional<int> got = queue.try_pop())
            check::that(*got == expected++, "values come in the order in which they were pushed");
        else
            checkable::this_thread::yield();
    }
    producer.join();
}

} // namespace

EKIDEN_MODEL(spsc_queue_keeps_order, .about = "three values through a queue of two") {
    three_through_a_queue_of_two();
}

EKIDEN_MODEL(spsc_queue_without_acquire, .about = "https://github.com/rust-embedded/heapless/issues/5",
             .mutant = "pop_does_not_acquire") {
    three_through_a_queue_of_two();
}

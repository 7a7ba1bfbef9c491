#include "treiber_stack.hpp"

#include <ekiden/check/model.hpp>

using namespace ekiden;

namespace {

/// Places that are taken, used and returned. Plain numbers are enough, because all threads of a model are one
/// real thread.
struct places {
    treiber_stack<2> free;
    std::array<checkable::cell<int>, 2> contents{};
    std::array<int, 2> holders{};

    std::optional<std::uint32_t> take() {
        const std::optional<std::uint32_t> place = free.take();
        if (place) {
            check::that(++holders[*place] == 1, "a place is given to one thread only");
            contents[*place].write(1);
        }
        return place;
    }
    void give_back(std::optional<std::uint32_t> place) {
        if (!place) return;
        --holders[*place];
        free.give_back(*place);
    }
};

void two_threads_take() {
    places all;
    checkable::thread other([&] {
        const auto first = all.take();
        const auto second = all.take();
        all.give_back(first);
        all.give_back(second);
    });
    const auto first = all.take();
    const auto second = all.take();
    all.give_back(first);
    all.give_back(second);
    other.join();
}

} // namespace

EKIDEN_MODEL(treiber_stack_gives_once, .about = "two threads, two places", .preemptions = 2) {
    two_threads_take();
}

EKIDEN_MODEL(treiber_stack_without_counter, .about = "https://github.com/pmodels/argobots/issues/178",
             .mutant = "take_does_not_count") {
    two_threads_take();
}

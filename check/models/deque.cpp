// chase_lev_deque: each element comes out once, whole, whoever takes it; slots are reused and the ring grows
// under the thieves' hands; indices wrap around.
#include <check/engine/model.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>

namespace deque_models {

namespace {

using namespace ekiden;

struct element {
    sys::cell<int> content{0};
    int taken = 0; // by the thread that got it; only the checker's one real thread runs
};

template <std::size_t Count, unsigned ContendedPops = 64>
struct deque_under_test {
    // Just before the indices wrap around.
    explicit deque_under_test(std::size_t capacity) : deque(capacity, ~std::uint64_t{0}, ContendedPops) {}

    chase_lev_deque<element> deque;
    std::array<element, Count> elements{};

    void push(std::size_t i) {
        elements[i].content.write(static_cast<int>(i) + 1);
        deque.push(&elements[i]);
    }
    bool use(element* got) {
        if (got == nullptr) return false;
        check::that(got->content.read() != 0, "the content was published with the element");
        got->content.write(0); // the taker owns it
        ++got->taken;
        return true;
    }
    /// The owner notices a theft, and is in contended mode for the next pops.
    void meet_a_thief(std::size_t first, std::size_t second) {
        push(first);
        push(second);
        check::that(use(deque.steal()) && use(deque.pop()), "one each");
    }
    void finish(std::size_t pushed) {
        while (use(deque.pop())) {
        }
        for (std::size_t i = 0; i < pushed; ++i)
            check::that(elements[i].taken == 1, "each element is taken exactly once");
    }
};

} // namespace

EKIDEN_MODEL(deque_last_item, .about = "owner and thief race for the only element", .preemptions = 6) {
    deque_under_test<1> d(2);
    d.push(0);
    sys::thread thief([&] { d.use(d.deque.steal()); });
    d.use(d.deque.pop());
    thief.join();
    d.finish(1);
}

EKIDEN_MODEL(deque_push_against_steal, .about = "a thief takes what is being pushed and popped",
             .preemptions = 4) {
    deque_under_test<2> d(2);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.push(0);
    d.push(1);
    d.use(d.deque.pop());
    d.use(d.deque.pop());
    thief.join();
    d.finish(2);
}

EKIDEN_MODEL(deque_two_thieves, .about = "two thieves and the owner, two elements") {
    deque_under_test<2> d(2);
    d.push(0);
    d.push(1);
    const auto steal = [&] { d.use(d.deque.steal()); };
    sys::thread first(steal);
    sys::thread second(steal);
    d.use(d.deque.pop());
    d.use(d.deque.pop());
    first.join();
    second.join();
    d.finish(2);
}

EKIDEN_MODEL(deque_slot_reuse, .about = "a slot is written again while a thief may still read it",
             .preemptions = 4) {
    deque_under_test<3> d(1);
    d.push(0);
    sys::thread thief([&] { d.use(d.deque.steal()); });
    d.use(d.deque.pop());
    d.push(1);
    d.use(d.deque.pop());
    d.push(2);
    thief.join();
    d.finish(3);
}

EKIDEN_MODEL(deque_reuse_after_steal, .about = "a slot counts as free only when its thief has read it",
             .preemptions = 4) {
    deque_under_test<3> d(1);
    d.push(0);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.push(1); // takes the slot of element 0, or grows
    d.push(2);
    thief.join();
    d.finish(3);
}

EKIDEN_MODEL(deque_growth, .about = "the ring grows while two thieves read the old one") {
    deque_under_test<3> d(1);
    d.push(0);
    const auto steal = [&] { d.use(d.deque.steal()); };
    sys::thread first(steal);
    sys::thread second(steal);
    d.push(1);
    d.push(2);
    first.join();
    second.join();
    d.finish(3);
}

EKIDEN_MODEL(deque_pop_oldest, .about = "the owner takes at the thieves' end", .preemptions = 4) {
    deque_under_test<2> d(2);
    d.push(0);
    d.push(1);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.use(d.deque.pop_oldest());
    d.use(d.deque.pop());
    thief.join();
    d.finish(2);
}

EKIDEN_MODEL(deque_contended, .about = "an owner that has met thieves, two thieves and two elements") {
    deque_under_test<4> d(4);
    d.meet_a_thief(2, 3);
    d.push(0);
    const auto steal = [&] { d.use(d.deque.steal()); };
    sys::thread first(steal);
    sys::thread second(steal);
    d.push(1);
    d.use(d.deque.pop());
    d.use(d.deque.pop());
    first.join();
    second.join();
    d.finish(4);
}

EKIDEN_MODEL(deque_mode_ends,
             .about = "the owner has been alone for a while, and goes back to light fences") {
    deque_under_test<5, 1> d(4);
    d.meet_a_thief(3, 4);
    for (std::size_t i = 0; i != 3; ++i) d.push(i);
    const auto steal = [&] { d.use(d.deque.steal()); };
    sys::thread first(steal);
    sys::thread second(steal);
    d.use(d.deque.pop()); // the last one with a full fence
    d.use(d.deque.pop());
    first.join();
    second.join();
    d.finish(5);
}

EKIDEN_MODEL(deque_mode_begins, .about = "thieves come again while the owner meets the first one",
             .preemptions = 3) {
    deque_under_test<3> d(4);
    for (std::size_t i = 0; i != 3; ++i) d.push(i);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.use(d.deque.pop());
    d.use(d.deque.pop());
    thief.join();
    d.finish(3);
}

EKIDEN_MODEL(deque_mode_growth,
             .about = "the ring grows in contended mode, and this mode ends, while a thief "
                      "that pays no heavy fence reads the old one",
             .preemptions = 3) {
    deque_under_test<5, 1> d(2);
    d.meet_a_thief(3, 4);
    d.push(0);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.push(1);
    d.push(2);            // grows, unless 0 is gone
    d.use(d.deque.pop()); // the last one with a full fence
    d.use(d.deque.pop());
    thief.join();
    d.finish(5);
}

EKIDEN_MODEL(deque_expects_thieves, .about = "the owner enters contended mode before it has met a thief",
             .preemptions = 3) {
    deque_under_test<3, 2> d(4);
    d.push(0);
    d.push(1);
    sys::thread thief([&] {
        d.use(d.deque.steal());
        d.use(d.deque.steal());
    });
    d.use(d.deque.pop()); // with a light fence
    d.deque.expect_thieves();
    d.push(2);
    d.use(d.deque.pop());
    d.use(d.deque.pop());
    thief.join();
    d.finish(3);
}

// A thief that steals an element through another thief's work: what the first one saw, the second one sees.
EKIDEN_MODEL(deque_hint, .about = "a thief that trusts maybe_filled still gets whole elements",
             .preemptions = 4) {
    deque_under_test<2> d(2);
    sys::thread thief([&] {
        if (d.deque.maybe_filled()) d.use(d.deque.steal());
    });
    d.push(0);
    d.push(1);
    d.use(d.deque.pop());
    thief.join();
    d.finish(2);
}

} // namespace deque_models

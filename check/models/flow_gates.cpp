// The gates of a pipeline: arrivals against departures, and the source that waits against items that come
// back.
#include <check/engine/model.hpp>
#include <ekiden/flow/detail/stage_gates.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace flow_gates_models {

namespace {

using namespace ekiden;
using detail::arrival_gate;
using detail::flow_item;
using detail::free_items;
using detail::ordered_gate;

struct model_item : flow_item {
    sys::cell<int> content{0};
};

/// A serial stage with its items, and what only the item in the stage may touch.
template <class Gate, std::size_t Count>
struct stage {
    Gate gate;
    std::array<model_item, Count> items{};
    sys::cell<int> state{0};
    std::vector<std::size_t> passed; // only the checker's one real thread runs

    explicit stage(std::size_t in_flight = Count) {
        gate.prepare(in_flight, 0);
        for (std::size_t i = 0; i != Count; ++i) items[i].number = i;
    }
    /// Brings an item to the stage, and continues with all items that may enter.
    void bring(std::size_t number) {
        items[number].content.write(1);
        if (!gate.arrive(items[number])) return;
        for (flow_item* at = &items[number]; at != nullptr;) {
            auto& item = static_cast<model_item&>(*at);
            check::that(item.content.read() == 1, "what was done to the item");
            item.content.write(2);
            state.write(state.read() + 1);
            passed.push_back(item.number);
            at = gate.leave(item);
        }
    }
    void expect_all(bool in_order) {
        check::that(passed.size() == Count, "each item passes once");
        for (std::size_t i = 0; in_order && i != Count; ++i) check::that(passed[i] == i, "in order");
        check::that(state.read() == static_cast<int>(Count), "what the stage did");
    }
};

} // namespace

EKIDEN_MODEL(ordered_gate_two, .about = "the second item arrives while the first one leaves",
             .preemptions = 6) {
    stage<ordered_gate, 2> s;
    sys::thread other([&] { s.bring(1); });
    s.bring(0);
    other.join();
    s.expect_all(true);
}

EKIDEN_MODEL(ordered_gate_three, .about = "three items that arrive in any order", .preemptions = 3) {
    stage<ordered_gate, 3> s;
    sys::thread second([&] { s.bring(2); });
    sys::thread first([&] { s.bring(1); });
    s.bring(0);
    first.join();
    second.join();
    s.expect_all(true);
}

EKIDEN_MODEL(ordered_gate_reuse, .about = "a cell is used again by a later item", .preemptions = 4) {
    stage<ordered_gate, 4> s(2);
    sys::atomic<bool> is_back{false};
    sys::thread other([&] {
        s.bring(1);
        while (!is_back.load(sys::acquire)) sys::yield(); // an item begins when another one has come back
        s.bring(3);
    });
    s.bring(0);
    s.bring(2); // item 0 has come back
    while (s.passed.size() < 2) sys::yield();
    is_back.store(true, sys::release);
    other.join();
    s.expect_all(true);
}

EKIDEN_MODEL(arrival_gate_two, .about = "an item arrives while another one leaves", .preemptions = 6) {
    stage<arrival_gate, 2> s;
    sys::thread other([&] { s.bring(1); });
    s.bring(0);
    other.join();
    s.expect_all(false);
}

EKIDEN_MODEL(arrival_gate_four, .about = "items arrive while the waiting ones pass", .preemptions = 3) {
    stage<arrival_gate, 4> s;
    sys::thread first([&] { s.bring(1); });
    sys::thread second([&] {
        s.bring(2);
        s.bring(3);
    });
    s.bring(0);
    first.join();
    second.join();
    s.expect_all(false);
    std::size_t place2 = 0;
    std::size_t place3 = 0;
    for (std::size_t i = 0; i != 4; ++i) {
        if (s.passed[i] == 2) place2 = i;
        if (s.passed[i] == 3) place3 = i;
    }
    check::that(place2 < place3, "in the order of their arrival");
}

namespace {

/// A source that makes items until none is left. Other threads bring them back.
template <std::size_t Slots>
struct source {
    static constexpr int count = 4;
    free_items free;
    std::array<model_item, Slots> slots{};
    sys::cell<int> made{0};
    std::array<sys::atomic<model_item*>, count>
        handed{}; // the place through which each item gets to its thread

    source() {
        for (model_item& each : slots) free.add(each);
    }
    /// Continues the source, as its owner.
    void produce() {
        while (made.read() != count) {
            if (!free.reserve()) return;
            auto& item = static_cast<model_item&>(free.take());
            item.content.write(item.content.read() + 1);
            const int number = made.read();
            made.write(number + 1);
            handed[static_cast<std::size_t>(number)].store(&item, sys::release);
        }
    }
    /// Brings an item back.
    void bring_back(std::size_t number) {
        model_item* item = nullptr;
        while ((item = handed[number].load(sys::acquire)) == nullptr) sys::yield();
        item->content.write(item->content.read() + 1);
        if (free.put(*item)) produce();
    }
};

} // namespace

EKIDEN_MODEL(source_waits_for_one, .about = "the source waits while its only item comes back",
             .preemptions = 4) {
    source<1> s;
    sys::thread other([&] {
        for (std::size_t i = 0; i != 4; ++i) s.bring_back(i);
    });
    s.produce();
    other.join();
    check::that(s.made.read() == 4, "all items are made");
    check::that(s.slots[0].content.read() == 8, "each item passes once");
}

EKIDEN_MODEL(source_waits_for_two, .about = "two items come back while the source begins to wait",
             .preemptions = 3) {
    source<2> s;
    sys::thread even([&] {
        s.bring_back(0);
        s.bring_back(2);
    });
    sys::thread odd([&] {
        s.bring_back(1);
        s.bring_back(3);
    });
    s.produce();
    even.join();
    odd.join();
    check::that(s.made.read() == 4, "all items are made");
    check::that(s.slots[0].content.read() + s.slots[1].content.read() == 8, "each item passes once");
}

} // namespace flow_gates_models

// slot_ring and segment_queue: each memory order of the two queues of a channel. The items check that their
// places are used in turn. src/ekiden/sync/detail/channel.md says what is claimed.
#include <check/engine/model.hpp>
#include <ekiden/sync/detail/segment_queue.hpp>
#include <ekiden/sync/detail/slot_ring.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>
#include <stdexcept>

namespace channel_queues_models {

namespace {

using namespace ekiden;

/// An item. The engine reports a data race on the item's place in the queue, and a leak of the item.
struct parcel {
    sys::cell<int> number;
    std::unique_ptr<int> content;

    explicit parcel(int n) : number(n), content(std::make_unique<int>(n)) {}
    parcel(parcel&& from) noexcept : number(from.number.read()), content(std::move(from.content)) {}
};

/// An item whose move throws if the number is 0.
struct fragile {
    sys::cell<int> number;

    explicit fragile(int n) : number(n) {}
    fragile(fragile&& from) : number(from.number.read()) {
        if (number.read() == 0) throw std::runtime_error("fragile");
    }
};

template <class Queue>
bool push(Queue& queue, int number) {
    parcel item(number);
    if (queue.push(item) != taken_from::done) return false;
    check::that(item.content == nullptr, "the item was moved");
    return true;
}

template <class Queue>
bool pop(Queue& queue) {
    std::optional<parcel> item;
    if (queue.pop(item) != taken_from::done) return false;
    check::that(*item->content == item->number.read(), "the item is whole");
    return true;
}

template <std::size_t SegmentSize>
void segments(int each) {
    segment_queue<parcel, SegmentSize, 1> queue;
    int got = 0;
    sys::thread other([&] {
        for (int i = 0; i < each; ++i) got += pop(queue);
    });
    for (int i = 0; i < 2 * each; ++i) check::that(push(queue, i), "an unbounded queue has room");
    for (int i = 0; i < each; ++i) got += pop(queue);
    other.join();
    while (got < 2 * each) got += pop(queue);
}

template <class Queue>
void sizes(Queue& queue) {
    const bool pops_twice = check::choose(2) == 0;
    std::size_t after_push = 0;
    bool is_empty = false;
    (void)push(queue, 1);
    sys::thread producer([&] {
        (void)push(queue, 2);
        after_push = queue.size();
    });
    sys::thread consumer([&] {
        (void)pop(queue);
        if (pops_twice) is_empty = !pop(queue);
    });
    if (!pops_twice) is_empty = queue.size() == 0;
    producer.join();
    consumer.join();
    check::that(after_push != 2 || !is_empty, "the second push precedes the first pop, or follows it");
}

template <class Queue>
void close_publishes(Queue& queue) {
    sys::cell<int> last(0);
    sys::thread closer([&] {
        last.write(1);
        queue.close();
    });
    std::optional<parcel> item;
    if (check::choose(2) == 0 ? queue.is_closed() : queue.pop(item) == taken_from::closed)
        check::that(last.read() == 1, "what precedes close() is visible after it");
    closer.join();
}

} // namespace

EKIDEN_MODEL(segment_queue_one_slot, .old_values = 2, .about = "two pops, and a new segment for each item",
             .preemptions = 3, .weak_failures = 0) {
    segments<1>(1);
}
EKIDEN_MODEL(segment_queue_two_producers, .old_values = 1,
             .about = "two producers, and a new segment for each item", .preemptions = 2,
             .weak_failures = 0) {
    segment_queue<parcel, 1, 1> queue;
    int got = 0;
    const auto pass = [&](int number) {
        check::that(push(queue, number), "an unbounded queue has room");
        got += pop(queue);
    };
    sys::thread other([&] { pass(1); });
    pass(2);
    other.join();
    check::that(got == 2 && queue.size() == 0, "each producer finds an item");
}
EKIDEN_MODEL(segment_queue_two_slots, .old_values = 1,
             .about = "a slow pop in a segment that another pop leaves", .preemptions = 2,
             .weak_failures = 0) {
    segments<2>(2);
}
EKIDEN_MODEL(segment_queue_slow_pops, .old_values = 1,
             .about = "two pops are slow in turn, and each one sweeps", .preemptions = 3,
             .weak_failures = 0) {
    segment_queue<parcel, 2, 1> queue;
    for (int i = 0; i != 4; ++i) (void)push(queue, i);
    const auto take_two = [&] {
        (void)pop(queue);
        (void)pop(queue);
    };
    sys::thread other(take_two);
    take_two();
    other.join();
}
EKIDEN_MODEL(segment_queue_frees_under_a_pop, .about = "the pop of the last slot frees a segment in use",
             .preemptions = 3, .mutant = "segment_queue_frees_under_a_pop") {
    segments<2>(2);
}
EKIDEN_MODEL(segment_queue_reuse, .old_values = 1, .about = "a push reuses the segment that a pop has left",
             .preemptions = 2, .weak_failures = 0) {
    segment_queue<parcel, 1, 1> queue;
    (void)push(queue, 1);
    sys::thread consumer([&] { (void)pop(queue); });
    (void)push(queue, 2);
    (void)push(queue, 3);
    consumer.join();
}
EKIDEN_MODEL(segment_queue_known_tail, .old_values = 0,
             .about = "three pops know the tail from each other, and follow the links of the segments",
             .preemptions = 1, .weak_failures = 0) {
    segment_queue<parcel, 1, 1> queue;
    const auto take = [&] { (void)pop(queue); };
    sys::thread first(take);
    sys::thread second(take);
    sys::thread third(take);
    (void)push(queue, 1);
    (void)push(queue, 2);
    first.join();
    second.join();
    third.join();
}
EKIDEN_MODEL(segment_queue_failed_push, .old_values = 1,
             .about = "a push throws, and each of two pops leaves a segment of the later pushes",
             .preemptions = 1, .weak_failures = 0) {
    segment_queue<fragile, 1, 1> queue;
    int thrown = 0;
    for (const int number : {0, 1, 2}) {
        fragile item(number);
        try {
            (void)queue.push(item);
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    }
    check::that(thrown == 1 && queue.size() == 2, "one push throws, and has no effect");
    int sum = 0;
    const auto take = [&] {
        std::optional<fragile> item;
        if (queue.pop(item) == taken_from::done) sum += item->number.read();
    };
    sys::thread other(take);
    take();
    other.join();
    check::that(sum == 3, "both items arrive");
}
EKIDEN_MODEL(segment_queue_size, .old_values = 1, .about = "two calls of size() against a push and a pop",
             .preemptions = 2, .weak_failures = 0) {
    segment_queue<parcel, 3, 1> queue;
    sizes(queue);
}
EKIDEN_MODEL(segment_queue_close, .old_values = 1, .about = "close() happens before what finds it",
             .preemptions = 2, .weak_failures = 0) {
    segment_queue<parcel, 3, 1> queue;
    close_publishes(queue);
}

EKIDEN_MODEL(slot_ring_one_slot, .old_values = 1, .about = "a push and a pop use one slot in turn",
             .preemptions = 2, .weak_failures = 0) {
    slot_ring<parcel> ring(1);
    (void)push(ring, 1);
    sys::thread consumer([&] {
        (void)pop(ring);
        (void)pop(ring);
    });
    (void)push(ring, 2);
    consumer.join();
}
EKIDEN_MODEL(slot_ring_laps, .old_values = 1,
             .about = "two producers and a consumer reuse the slots of a ring", .preemptions = 3,
             .weak_failures = 0) {
    slot_ring<parcel> ring(2);
    int pushed = 0;
    int got = 0;
    pushed += push(ring, 1);
    sys::thread other([&] {
        pushed += push(ring, 2);
        pushed += push(ring, 3);
    });
    got += pop(ring);
    pushed += push(ring, 4);
    got += pop(ring);
    other.join();
    while (got < pushed) got += pop(ring);
    check::that(ring.size() == 0, "empty");
}
EKIDEN_MODEL(slot_ring_size, .old_values = 1, .about = "two calls of size() against a push and a pop",
             .preemptions = 2, .weak_failures = 0) {
    slot_ring<parcel> ring(2);
    sizes(ring);
}
EKIDEN_MODEL(slot_ring_close, .old_values = 1, .about = "close() happens before what finds it",
             .preemptions = 2, .weak_failures = 0) {
    slot_ring<parcel> ring(2);
    close_publishes(ring);
}

} // namespace channel_queues_models

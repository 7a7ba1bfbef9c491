// injection_ring, injection_queue and task_batch: takes by several workers, growth, the order per producer, a
// shared ring, and the gate that stop() closes.
#include <check/engine/model.hpp>
#include <ekiden/queue/injection_queue.hpp>
#include <ekiden/queue/task_batch.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <memory>
#include <span>

namespace injection_models {

namespace {

using namespace ekiden;

struct item : task {
    item() : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }

    sys::cell<int> content{0};
    int taken = 0;
    int number = 0;
};

template <std::size_t Count>
struct items {
    std::array<item, Count> all{};

    task* fill(std::size_t i) {
        all[i].number = static_cast<int>(i);
        all[i].content.write(1);
        return &all[i];
    }
    item* use(task* got) {
        auto* const one = static_cast<item*>(got);
        check::that(one->content.read() == 1, "the content was published with the task");
        one->content.write(0);
        ++one->taken;
        return one;
    }
    void finish(std::size_t pushed) {
        for (std::size_t i = 0; i < pushed; ++i)
            check::that(all[i].taken == 1, "each task is claimed exactly once");
    }
};

constexpr std::uint64_t near_the_end = ~std::uint64_t{0};
constexpr std::uint32_t closed = 1;

std::size_t claim_one(injection_ring& from, task*& out) { return from.take({&out, 1}, 1); }
std::size_t claim_one(injection_queue& from, task*& out, std::size_t start) {
    out = from.take_one(start);
    return out != nullptr ? 1 : 0;
}

} // namespace

EKIDEN_MODEL(ring_push_against_claim, .about = "one producer, one consumer, slots reused", .preemptions = 4) {
    items<3> made;
    injection_ring ring(1, near_the_end);
    sys::thread worker([&] {
        task* got = nullptr;
        for (int i = 0; i < 2; ++i) {
            if (claim_one(ring, got) != 0) made.use(got);
        }
    });
    for (std::size_t i = 0; i < 3; ++i) ring.push(made.fill(i));
    worker.join();
    for (task* got = nullptr; claim_one(ring, got) != 0;) made.use(got);
    made.finish(3);
}

EKIDEN_MODEL(ring_two_consumers, .about = "two consumers; the order of a producer is kept") {
    items<3> made;
    injection_ring ring(2, near_the_end);
    ring.push(made.fill(0));
    int last[2] = {-1, -1};
    const auto consume = [&](int me) {
        task* got = nullptr;
        for (int i = 0; i < 2; ++i) {
            if (claim_one(ring, got) == 0) continue;
            const int number = made.use(got)->number;
            check::that(number > last[me], "a consumer gets the tasks of one producer in order");
            last[me] = number;
        }
    };
    sys::thread first(consume, 0);
    sys::thread second(consume, 1);
    ring.push(made.fill(1));
    ring.push(made.fill(2));
    first.join();
    second.join();
    for (task* got = nullptr; claim_one(ring, got) != 0;) made.use(got);
    made.finish(3);
}

EKIDEN_MODEL(ring_consumers_leave_nothing,
             .about = "consumers that go on until a take returns nothing leave no task behind",
             .preemptions = 4) {
    items<2> made;
    injection_ring ring(2, near_the_end);
    ring.push(made.fill(0));
    ring.push(made.fill(1));
    // A take may lose its tasks to the other consumer, and returns nothing then. The other consumer goes on.
    const auto consume = [&] {
        for (task* got = nullptr; claim_one(ring, got) != 0;) made.use(got);
    };
    sys::thread first(consume);
    consume();
    first.join();
    made.finish(2);
}

EKIDEN_MODEL(queue_order, .about = "claims that happen one after the other keep the producer's order",
             .preemptions = 4) {
    items<2> made;
    injection_ring ring(2, near_the_end);
    sys::cell<int> first_number{-1};
    sys::atomic<bool> claimed{false};
    sys::thread worker([&] {
        task* got = nullptr;
        if (claim_one(ring, got) == 0) return;
        first_number.write(made.use(got)->number);
        claimed.store(true, sys::release);
    });
    ring.push(made.fill(0));
    ring.push(made.fill(1));
    task* got = nullptr;
    const bool was_claimed = claimed.load(sys::acquire);
    if (claim_one(ring, got) != 0) {
        const int mine = made.use(got)->number;
        if (was_claimed) check::that(first_number.read() < mine, "the earlier claim got the earlier task");
    }
    worker.join();
    while (claim_one(ring, got) != 0) made.use(got);
    made.finish(2);
}

EKIDEN_MODEL(ring_claims_follow_each_other,
             .about = "what was done before a claim is seen after each later claim", .preemptions = 4) {
    items<2> made;
    injection_ring ring(2, near_the_end);
    ring.push(made.fill(0));
    ring.push(made.fill(1));
    sys::cell<int> note{0};
    sys::thread worker([&] {
        note.write(1);
        task* got = nullptr;
        if (claim_one(ring, got) != 0) made.use(got);
    });
    task* got = nullptr;
    if (claim_one(ring, got) != 0 && made.use(got)->number == 1)
        check::that(note.read() == 1, "the first task was claimed by the worker, after its note");
    worker.join();
    while (claim_one(ring, got) != 0) made.use(got);
    made.finish(2);
}

EKIDEN_MODEL(ring_takes_of_several, .about = "two consumers take several at a time while the ring grows",
             .preemptions = 3) {
    items<4> made;
    injection_ring ring(2, near_the_end);
    ring.push(made.fill(0));
    ring.push(made.fill(1));
    const auto consume = [&] {
        std::array<task*, 2> got{};
        const std::size_t count = ring.take(got, 1);
        for (std::size_t i = 0; i != count; ++i) made.use(got[i]);
        if (count == 2)
            check::that(static_cast<item*>(got[0])->number + 1 == static_cast<item*>(got[1])->number,
                        "what is taken at once follows each other");
    };
    sys::thread first(consume);
    sys::thread second(consume);
    ring.push(made.fill(2));
    ring.push(made.fill(3));
    first.join();
    second.join();
    for (task* got = nullptr; claim_one(ring, got) != 0;) made.use(got);
    made.finish(4);
}

EKIDEN_MODEL(batch_taken_while_filled_again,
             .about = "thieves take from a batch that its owner empties and fills again", .preemptions = 3) {
    items<3> made;
    task_batch batch;
    std::array<task*, 3> all{made.fill(0), made.fill(1), made.fill(2)};
    batch.fill(std::span(all).first(2));
    const auto steal = [&] {
        if (task* const got = batch.take()) made.use(got);
    };
    sys::thread first(steal);
    sys::thread second(steal);
    while (task* const got = batch.take()) made.use(got);
    batch.fill(std::span(all).subspan(2));
    first.join();
    second.join();
    while (task* const got = batch.take()) made.use(got);
    made.finish(3);
}

EKIDEN_MODEL(batch_order, .about = "takes that happen one after the other keep the order", .preemptions = 4) {
    items<2> made;
    task_batch batch;
    std::array<task*, 2> all{made.fill(0), made.fill(1)};
    sys::cell<int> first_number{-1};
    sys::atomic<bool> has_taken{false};
    batch.fill(all);
    sys::thread thief([&] {
        task* const got = batch.take();
        if (got == nullptr) return;
        first_number.write(made.use(got)->number);
        has_taken.store(true, sys::release);
    });
    const bool was_taken = has_taken.load(sys::acquire);
    if (task* const got = batch.take()) {
        const int mine = made.use(got)->number;
        if (was_taken) check::that(first_number.read() < mine, "the earlier take got the earlier task");
    }
    thief.join();
    while (task* const got = batch.take()) made.use(got);
    made.finish(2);
}

EKIDEN_MODEL(queue_shared_ring, .about = "two producers share a ring while it is made, and one task is taken",
             .preemptions = 3) {
    items<2> made;
    sys::atomic<std::uint32_t> gate{0};
    injection_queue queue(gate, 1, near_the_end, 1);
    sys::thread first([&] { check::that(queue.push(made.fill(0), closed), "the gate is open"); });
    sys::thread second([&] { check::that(queue.push(made.fill(1), closed), "the gate is open"); });
    task* got = nullptr;
    if (claim_one(queue, got, std::size_t{0}) != 0) made.use(got);
    first.join();
    second.join();
    while (claim_one(queue, got, std::size_t{0}) != 0) made.use(got);
    made.finish(2);
}

EKIDEN_MODEL(queue_close_against_push, .about = "after quiesce every accepted task is in the queue",
             .preemptions = 4) {
    items<2> made;
    sys::atomic<std::uint32_t> gate{0};
    injection_queue queue(gate, 2, near_the_end);
    int accepted = 0;
    sys::thread producer([&] {
        accepted += queue.push(made.fill(0), closed) ? 1 : 0;
        accepted += queue.push(made.fill(1), closed) ? 1 : 0;
    });
    gate.fetch_or(closed, sys::seq_cst);
    queue.quiesce();
    int found = 0;
    for (task* got = nullptr; claim_one(queue, got, std::size_t{0}) != 0;) {
        made.use(got);
        ++found;
    }
    producer.join();
    check::that(found == accepted, "no accepted task comes after the queue was found empty");
}

EKIDEN_MODEL(queue_end_during_push, .about = "the queue ends after quiesce, while a push may still return",
             .preemptions = 3) {
    items<1> made;
    sys::atomic<std::uint32_t> gate{0};
    auto queue = std::make_unique<injection_queue>(gate, std::size_t{2}, near_the_end);
    sys::thread producer(
        [&made, q = queue.get()] { check::that(q->push(made.fill(0), closed), "the gate is open"); });
    task* got = nullptr;
    while (claim_one(*queue, got, std::size_t{0}) == 0) sys::yield();
    made.use(got);
    queue->quiesce();
    queue.reset();
    producer.join();
    made.finish(1);
}

EKIDEN_MODEL(queue_in_sight, .about = "anybody may look at the queue while a producer's ring is added",
             .preemptions = 4) {
    items<1> made;
    sys::atomic<std::uint32_t> gate{0};
    injection_queue queue(gate, 1, near_the_end);
    sys::thread producer([&] { check::that(queue.push(made.fill(0), closed), "the gate is open"); });
    if (check::choose(2) == 0)
        (void)queue.maybe_filled();
    else
        check::that(queue.pushed() <= 1, "no more than were pushed");
    producer.join();
    check::that(queue.maybe_filled() && queue.pushed() == 1, "the task is in sight");
    task* got = nullptr;
    check::that(claim_one(queue, got, std::size_t{0}) == 1, "the task is there");
    made.use(got);
    made.finish(1);
}

} // namespace injection_models

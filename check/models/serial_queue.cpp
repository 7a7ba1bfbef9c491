// serial_queue: pushes against take, against rest and against each other; the consumer changes; the end.
#include <check/engine/model.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <vector>

namespace serial_queue_models {

namespace {

using namespace ekiden;

/// A task that is only queued.
struct item : task {
    item() : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }

    sys::cell<int> content{0};
    int number = 0;
};

/// A queue with its tasks, and what only its consumer may touch.
template <std::size_t Count>
struct consumed_queue {
    serial_queue queue;
    std::array<item, Count> items{};
    sys::cell<int> consumer{0};
    std::vector<int> taken; // only the checker's one real thread runs
    int consumers = 0;      // at once

    bool push(std::size_t i) {
        items[i].number = static_cast<int>(i);
        items[i].content.write(1);
        return queue.push(&items[i]);
    }
    /// Takes one as the consumer. False: nothing was ready.
    bool take_one() {
        auto* const got = static_cast<item*>(queue.take());
        if (got == nullptr) return false;
        consumer.write(consumer.read() + 1);
        check::that(got->content.read() == 1, "the content was published with the task, which is taken once");
        got->content.write(0);
        taken.push_back(got->number);
        return true;
    }
    /// Consumes until nothing is left.
    void drain() {
        check::that(++consumers == 1, "there is one consumer at a time");
        for (;;) {
            while (take_one()) {
            }
            --consumers;
            if (queue.try_rest()) return;
            ++consumers;
            sys::yield(); // a push is under way
        }
    }
    void push_and_drain(std::size_t i) {
        if (push(i)) drain();
    }
    void finish(std::size_t count) const {
        check::that(queue.is_idle(), "all have gone");
        check::that(taken.size() == count, "each task is taken once");
    }
    /// Whether `earlier` came out before `later`.
    [[nodiscard]] bool in_order(int earlier, int later) const {
        for (const int number : taken) {
            if (number == later) return false;
            if (number == earlier) return true;
        }
        return false;
    }
};

} // namespace

EKIDEN_MODEL(serial_push_against_take, .about = "a producer goes on while the consumer takes",
             .preemptions = 4) {
    consumed_queue<3> q;
    q.push_and_drain(0);
    sys::thread producer([&] {
        q.push_and_drain(1);
        q.push_and_drain(2);
    });
    producer.join();
    q.finish(3);
    check::that(q.in_order(0, 1) && q.in_order(1, 2), "in the order of the pushes");
}

EKIDEN_MODEL(serial_push_against_rest, .about = "a push comes while the consumer goes to rest",
             .preemptions = 5) {
    consumed_queue<3> q;
    sys::thread producer([&] { q.push_and_drain(0); });
    q.push_and_drain(1);
    q.push_and_drain(2);
    producer.join();
    q.finish(3);
    check::that(q.in_order(1, 2), "in the order of the pushes");
}

EKIDEN_MODEL(serial_two_producers, .about = "two producers, and whoever begins consumes", .preemptions = 2) {
    consumed_queue<4> q;
    sys::thread first([&] {
        q.push_and_drain(0);
        q.push_and_drain(1);
    });
    sys::thread second([&] { q.push_and_drain(2); });
    q.push_and_drain(3);
    first.join();
    second.join();
    q.finish(4);
    check::that(q.in_order(0, 1), "each producer's in the order of its pushes");
}

EKIDEN_MODEL(serial_order_across_producers,
             .about = "a push that follows another one by way of a third object comes out later",
             .preemptions = 4) {
    consumed_queue<2> q;
    sys::atomic<bool> is_pushed{false};
    sys::thread second([&] {
        const bool is_later = is_pushed.load(sys::acquire);
        q.push_and_drain(1);
        if (is_later) check::that(q.in_order(0, 1) || q.taken.empty(), "the earlier one is earlier");
    });
    if (q.push(0)) {
        is_pushed.store(true, sys::release);
        q.drain();
    }
    second.join();
    q.finish(2);
}

EKIDEN_MODEL(serial_begin_against_push, .about = "a thread that looks by itself, and a producer",
             .preemptions = 5) {
    consumed_queue<2> q;
    sys::thread looking([&] {
        if (q.queue.try_begin()) q.drain();
    });
    q.push_and_drain(0);
    q.push_and_drain(1);
    looking.join();
    q.finish(2);
    check::that(q.in_order(0, 1), "in the order of the pushes");
}

EKIDEN_MODEL(serial_end_against_rest, .about = "the last user leaves: one of the two finds that it is alone",
             .preemptions = 5) {
    consumed_queue<2> q;
    sys::cell<int> left_behind{0};
    int alone = 0;
    sys::atomic<bool> handed_over{false};
    check::that(q.push(0), "idle");
    sys::thread consumer([&] {
        while (!handed_over.load(sys::acquire)) sys::yield();
        for (;;) {
            while (q.take_one()) {
            }
            if (q.queue.try_rest()) return;
            if (q.queue.has_ended()) {
                ++alone;
                check::that(left_behind.read() == 1, "what the last user did");
                check::that(q.taken.size() == 2, "nothing is left");
                return;
            }
            sys::yield();
        }
    });
    handed_over.store(true, sys::release);
    if (q.push(1)) { // the consumer rests
        q.take_one();
        check::that(q.queue.try_rest(), "nobody else is there");
    }
    left_behind.write(1);
    if (q.queue.end()) {
        ++alone;
        check::that(q.consumer.read() == 2, "what the consumer did");
    }
    consumer.join();
    check::that(alone == 1, "one of them");
}

} // namespace serial_queue_models

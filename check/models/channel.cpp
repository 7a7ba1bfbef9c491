// channel: a push or a pop that must wait against the operation that it waits for, close, and the rendezvous.
// channel_queues.cpp has the models of the two queues. src/ekiden/sync/detail/channel.md says what is
// claimed.
#include <check/engine/model.hpp>
#include <ekiden/sync/channel.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>

namespace channel_models {

namespace {

using namespace ekiden;

bool push(channel<int>& ch, int item) { return ch.push(item) == queue_status::done; }
std::optional<int> pop(channel<int>& ch) {
    popped<int> item = ch.pop();
    check::that(item.has_value() == (item.status() == queue_status::done), "an item, or the reason why not");
    return item;
}

/// An item whose move throws if the number is 0. The engine reports a data race on the item's place in the
/// queue, and a leak of the item.
struct fragile {
    sys::cell<int> number;
    std::unique_ptr<int> content;

    explicit fragile(int n) : number(n), content(std::make_unique<int>(n)) {}
    fragile(fragile&& from) : number(from.number.read()) {
        if (number.read() == 0) throw std::runtime_error("fragile");
        content = std::move(from.content);
    }
};

bool push(channel<fragile>& ch, int number) {
    fragile item(number);
    const bool is_done = ch.push(std::move(item)) == queue_status::done;
    check::that((item.content == nullptr) == is_done, "an item is moved if it is accepted");
    return is_done;
}
void fail_to_push(channel<fragile>& ch) {
    bool has_thrown = false;
    try {
        (void)push(ch, 0);
    } catch (const std::runtime_error&) {
        has_thrown = true;
    }
    check::that(has_thrown, "the move throws");
}
std::optional<int> pop(channel<fragile>& ch) {
    const popped<fragile> item = ch.pop();
    if (!item) return std::nullopt;
    check::that(*item->content == item->number.read(), "the item is whole");
    return *item->content;
}

void wait_for_item_after_failure(std::size_t capacity) {
    channel<fragile> ch(capacity);
    sys::thread consumer([&] { check::that(pop(ch) == 1, "the item arrives"); });
    fail_to_push(ch);
    (void)push(ch, 1);
    consumer.join();
}

void pushes_together(std::size_t capacity) {
    channel<fragile> ch(capacity);
    sys::thread other([&] { (void)push(ch, 1); });
    (void)push(ch, 2);
    other.join();
    check::that(ch.size() == 2, "both items are accepted");
    check::that(pop(ch).value_or(0) + pop(ch).value_or(0) == 3, "both items arrive");
}

void wait_for_item(std::size_t capacity) {
    channel<int> ch(capacity);
    sys::thread consumer([&] { check::that(pop(ch) == 1, "the item arrives"); });
    (void)push(ch, 1);
    consumer.join();
}

void wait_for_room() {
    channel<int> ch(1);
    (void)push(ch, 1);
    sys::thread producer([&] { (void)push(ch, 2); });
    check::that(pop(ch) == 1, "the items arrive in order");
    check::that(pop(ch) == 2, "the items arrive in order");
    producer.join();
}

void pushes_in_turn() {
    channel<int> ch(1);
    (void)push(ch, 1);
    int sum = 0;
    sys::thread first([&] { (void)push(ch, 2); });
    sys::thread second([&] { (void)push(ch, 3); });
    for (int i = 0; i != 3; ++i) sum += pop(ch).value_or(0);
    first.join();
    second.join();
    check::that(sum == 6, "each waiting push gets room");
}

void serve_in_turn() {
    channel<int> ch(2);
    (void)push(ch, 1);
    (void)push(ch, 2);
    sys::thread first([&] { (void)push(ch, 3); });
    sys::thread second([&] { (void)push(ch, 4); });
    (void)pop(ch);
    (void)pop(ch);
    first.join();
    second.join();
}

void two_wait() {
    channel<int> ch;
    int sum = 0;
    sys::thread first([&] { sum += pop(ch).value_or(0); });
    sys::thread second([&] { sum += pop(ch).value_or(0); });
    (void)push(ch, 1);
    (void)push(ch, 2);
    first.join();
    second.join();
    check::that(sum == 3, "each waiter gets an item");
}

template <class T>
void close_between(channel<T>& ch) {
    bool is_accepted = false;
    sys::thread producer([&] { is_accepted = push(ch, 1); });
    sys::thread closer([&] { ch.close(); });
    const std::optional<int> got = pop(ch);
    producer.join();
    closer.join();
    check::that(got.has_value() == is_accepted, "the item arrives if and only if it was accepted");
}

} // namespace

EKIDEN_MODEL(channel_pop_waits, .old_values = 2,
             .about = "a pop of an unbounded channel waits as a push comes", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    wait_for_item(channel<int>::unbounded);
}
EKIDEN_MODEL(channel_pop_waits_bounded, .old_values = 2,
             .about = "a pop of a bounded channel waits as a push comes", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    wait_for_item(1);
}
EKIDEN_MODEL(channel_push_waits, .old_values = 2,
             .about = "a push into a full channel waits as a pop makes room", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    wait_for_room();
}
EKIDEN_MODEL(channel_two_pops_wait, .old_values = 1, .about = "two waiting pops, two pushes",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    two_wait();
}
EKIDEN_MODEL(channel_two_pushes_wait, .old_values = 1,
             .about = "two pushes wait for room, and the first one serves the second", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    pushes_in_turn();
}
EKIDEN_MODEL(channel_one_serves_the_other, .old_values = 1,
             .about = "two pushes wait, and one pop serves both of them in turn", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    serve_in_turn();
}
EKIDEN_MODEL(channel_keeps_its_turn, .about = "a push that was served does not serve the next one",
             .preemptions = 2, .mutant = "channel_keeps_its_turn") {
    serve_in_turn();
}
EKIDEN_MODEL(channel_overlooks_waiters, .about = "a push does not check for waiters", .preemptions = 2,
             .mutant = "channel_overlooks_waiters") {
    wait_for_item(channel<int>::unbounded);
}
EKIDEN_MODEL(channel_checks_once, .about = "a pop marks its wait, and does not check the queue again",
             .preemptions = 2, .mutant = "channel_checks_once") {
    wait_for_item(channel<int>::unbounded);
}
EKIDEN_MODEL(channel_drops_a_refused_waiter, .about = "a waiter that was refused leaves the list",
             .preemptions = 3, .mutant = "state_lock_drops_a_refused_waiter") {
    two_wait();
}

EKIDEN_MODEL(channel_close_against_push, .old_values = 1,
             .about = "a channel is closed during a push: what was accepted arrives", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    channel<int> ch;
    close_between(ch);
    check::that(!push(ch, 2), "a closed channel refuses");
}

EKIDEN_MODEL(channel_failed_push, .old_values = 1,
             .about = "a push throws and another push waits for room, as a thread polls", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    channel<fragile> ch(1);
    sys::thread failing([&] { fail_to_push(ch); });
    sys::thread producer([&] { check::that(push(ch, 1), "the push gets room"); });
    while (!ch.try_pop().has_value()) sys::yield();
    producer.join();
    failing.join();
    check::that(ch.size() == 0 && ch.try_push(fragile(2)) == queue_status::done, "there is room");
}
EKIDEN_MODEL(channel_failed_push_and_pop, .old_values = 1,
             .about = "a pop of a bounded channel waits as a push throws, and another push follows",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    wait_for_item_after_failure(1);
}
EKIDEN_MODEL(channel_failed_push_and_pop_unbounded, .old_values = 1,
             .about = "a pop of an unbounded channel waits as a push throws, and another push follows",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    wait_for_item_after_failure(channel<fragile>::unbounded);
}
EKIDEN_MODEL(channel_fragile_pushes, .old_values = 1, .about = "two pushes of items that may throw",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    pushes_together(check::choose(2) == 0 ? 2 : channel<fragile>::unbounded);
}
EKIDEN_MODEL(channel_pushes_overlap, .about = "two pushes construct their items in the same slot",
             .preemptions = 2, .mutant = "channel_pushes_overlap") {
    pushes_together(2);
}
EKIDEN_MODEL(channel_pushes_overlap_unbounded, .about = "two pushes construct their items in the same slot",
             .preemptions = 2, .mutant = "channel_pushes_overlap") {
    pushes_together(channel<fragile>::unbounded);
}
EKIDEN_MODEL(channel_close_against_fragile_push, .old_values = 1,
             .about = "a channel is closed during a push of an item that may throw", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    channel<fragile> ch(check::choose(2) == 0 ? 1 : channel<fragile>::unbounded);
    close_between(ch);
    check::that(!push(ch, 2), "a closed channel refuses");
}
EKIDEN_MODEL(channel_closes_within_a_push,
             .about = "close() comes between the move of an item and its position", .preemptions = 2,
             .mutant = "channel_pushes_overlap") {
    channel<fragile> ch(1);
    sys::thread producer([&] { (void)push(ch, 1); });
    ch.close();
    producer.join();
}

EKIDEN_MODEL(channel_rendezvous, .old_values = 1, .about = "two pushes and two pops meet", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    channel<int> ch(0);
    sys::thread producer([&] {
        (void)push(ch, 1);
        (void)push(ch, 2);
    });
    check::that(pop(ch) == 1, "the pushes are taken in order");
    check::that(pop(ch) == 2, "the pushes are taken in order");
    producer.join();
}

EKIDEN_MODEL(channel_rendezvous_try, .old_values = 1,
             .about = "a push that does not wait, against a pop with a limit", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    channel<int> ch(0);
    bool is_taken = false;
    sys::thread producer([&] { is_taken = ch.try_push(1) == queue_status::done; });
    const popped<int> item = ch.pop_for(std::chrono::seconds(1));
    producer.join();
    check::that(item.has_value() == is_taken, "both or neither");
}

EKIDEN_MODEL(channel_rendezvous_close, .old_values = 1,
             .about = "a rendezvous is closed while a push and a pop meet", .preemptions = 2, .spurious = 0,
             .weak_failures = 0) {
    channel<int> ch(0);
    close_between(ch);
}
EKIDEN_MODEL(channel_closes_between_partners, .old_values = 1,
             .about = "close() comes between a chosen pop and its push", .preemptions = 2, .spurious = 0,
             .weak_failures = 0, .mutant = "channel_closes_between_partners") {
    channel<int> ch(0);
    close_between(ch);
}

} // namespace channel_models

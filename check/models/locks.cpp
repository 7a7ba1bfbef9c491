// The locks on state_lock: read-write locks by policy, barriers, the buffer, the semaphore, the sequencer.
#include <check/engine/model.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace {

using namespace ekiden;

/// A writer and two readers.
template <rw_policy Policy>
void readers_and_writer() {
    rw_mutex<Policy> lock;
    sys::cell<int> data{0};
    const auto read = [&] {
        lock.lock_shared();
        (void)data.read();
        lock.unlock_shared();
    };
    sys::thread reader(read);
    sys::thread writer([&] {
        lock.lock();
        data.write(data.read() + 1);
        lock.unlock();
    });
    read();
    reader.join();
    writer.join();
    check::that(data.read() == 1, "written once");
    check::that(lock.try_lock(), "free at the end");
    lock.unlock();
}

/// A reader inside, a writer that gives up, and a reader that must get in then.
template <rw_policy Policy>
void writer_gives_up() {
    rw_mutex<Policy> lock;
    sys::cell<int> data{0};
    lock.lock_shared();
    sys::thread writer([&] {
        if (lock.try_lock_for(std::chrono::milliseconds(1))) {
            data.write(1);
            lock.unlock();
        }
    });
    sys::thread reader([&] {
        lock.lock_shared();
        (void)data.read();
        lock.unlock_shared();
    });
    (void)data.read();
    lock.unlock_shared();
    reader.join();
    writer.join();
    check::that(lock.try_lock(), "free at the end");
    lock.unlock();
}

} // namespace

EKIDEN_MODEL(rw_basic, .about = "policy basic: readers share, the writer is alone", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    readers_and_writer<rw_policy::basic>();
}
EKIDEN_MODEL(rw_writer_next, .about = "policy writer_next", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    readers_and_writer<rw_policy::writer_next>();
}
EKIDEN_MODEL(rw_writer_first, .about = "policy writer_first", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    readers_and_writer<rw_policy::writer_first>();
}
EKIDEN_MODEL(rw_fifo, .about = "policy fifo", .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    readers_and_writer<rw_policy::fifo>();
}

EKIDEN_MODEL(rw_writer_next_gives_up, .about = "a writer that gives up lets readers in", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    writer_gives_up<rw_policy::writer_next>();
}
EKIDEN_MODEL(rw_writer_first_gives_up, .about = "the same under writer_first", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    writer_gives_up<rw_policy::writer_first>();
}
EKIDEN_MODEL(rw_fifo_gives_up, .about = "the same under fifo", .preemptions = 2, .spurious = 0,
             .weak_failures = 0) {
    writer_gives_up<rw_policy::fifo>();
}

EKIDEN_MODEL(rw_upgrade, .about = "two readers upgrade: one is told to step back", .preemptions = 3) {
    rw_mutex<> lock;
    sys::cell<int> data{0};
    const auto work = [&] {
        lock.lock_shared();
        const int seen = data.read();
        if (lock.upgrade()) {
            check::that(data.read() == seen, "no writer came in between");
            data.write(seen + 1);
            lock.unlock();
        } else {
            lock.unlock_shared();
        }
    };
    sys::thread other(work);
    work();
    other.join();
    check::that(data.read() == 1 || data.read() == 2, "at least one was the writer");
}

EKIDEN_MODEL(barrier_reuse, .about = "two rounds of a barrier of two", .preemptions = 3) {
    barrier<> b(2);
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    sys::thread other([&] {
        right.write(1);
        b.arrive_and_wait();
        check::that(left.read() == 1, "round 1");
        b.arrive_and_wait();
        right.write(2);
    });
    left.write(1);
    b.arrive_and_wait();
    check::that(right.read() == 1, "round 1");
    b.arrive_and_wait();
    left.write(2);
    other.join();
}

EKIDEN_MODEL(barrier_three, .about = "three threads at a barrier", .preemptions = 3, .spurious = 0,
             .weak_failures = 0) {
    barrier<> b(3);
    sys::cell<int> a{0};
    sys::thread second([&] { b.arrive_and_wait(), check::that(a.read() == 1, "seen by the second"); });
    sys::thread third([&] { b.arrive_and_wait(), check::that(a.read() == 1, "seen by the third"); });
    a.write(1);
    b.arrive_and_wait();
    second.join();
    third.join();
}

EKIDEN_MODEL(barrier_drop, .about = "one drops out while the other goes on", .preemptions = 3) {
    barrier<> b(2);
    sys::cell<int> data{0};
    sys::thread other([&] {
        data.write(1);
        b.arrive_and_drop();
    });
    b.arrive_and_wait();
    check::that(data.read() == 1, "what the other did is seen");
    b.arrive_and_wait(); // alone
    other.join();
}

EKIDEN_MODEL(elastic_barrier_rounds, .about = "nobody out before all in, nor in before all out",
             .preemptions = 3) {
    elastic_barrier b(2);
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    sys::thread other([&] {
        right.write(1);
        b.enter();
        b.leave();
        check::that(left.read() == 1, "the other was in");
        b.enter();
        b.leave();
    });
    left.write(1);
    b.enter();
    b.leave();
    check::that(right.read() == 1, "the other was in");
    b.enter();
    b.leave();
    other.join();
}

EKIDEN_MODEL(bounded_buffer_close, .about = "items pushed before close come out, waits end",
             .preemptions = 3) {
    bounded_buffer<int> buffer(1);
    sys::thread producer([&] {
        buffer.push(1);
        buffer.push(2);
        buffer.close();
    });
    int sum = 0;
    while (std::optional<int> item = buffer.pop_or_end()) sum += *item;
    check::that(sum == 3, "both items");
    producer.join();
}

EKIDEN_MODEL(event_destruction, .about = "who sees the event set may destroy it", .preemptions = 4) {
    auto e = std::make_unique<event>();
    sys::thread setter([&set = *e] { set.set(); });
    e->wait();
    e.reset();
    setter.join();
}

EKIDEN_MODEL(sequencer_calls, .about = "two callers, one server: each call is answered in turn",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    sequencer<int, int> queue;
    sys::cell<int> total{0};
    sys::thread server([&] {
        queue.serve([&](std::uint64_t number, int x) {
            check::that(total.read() == static_cast<int>(number), "in order");
            total.write(total.read() + x);
            return total.read();
        });
    });
    sys::thread caller([&] {
        const auto [number, value] = queue.call(1);
        check::that(value == static_cast<int>(number) + 1, "the reply to this number");
    });
    const auto [number, value] = queue.call(1);
    check::that(value == static_cast<int>(number) + 1, "the reply to this number");
    caller.join();
    queue.close();
    server.join();
}

EKIDEN_MODEL(spin_mutex_two, .about = "mutual exclusion of a spinning mutex", .preemptions = 4) {
    spin_mutex lock;
    sys::cell<int> count{0};
    const auto work = [&] {
        lock.lock();
        count.write(count.read() + 1);
        lock.unlock();
    };
    sys::thread other(work);
    work();
    other.join();
    check::that(count.read() == 2, "both");
}

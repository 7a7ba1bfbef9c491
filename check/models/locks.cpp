// The locks on state_lock: read-write locks by policy, barriers, the buffer, the semaphore, the sequencer.
#include <check/engine/model.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace locks_models {

namespace {

using namespace ekiden;

/// Two threads that lock and unlock.
template <class Mutex>
void one_after_the_other() {
    Mutex lock;
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

/// A reader inside, a writer and another reader that come.
template <rw_policy Policy>
void readers_and_writer() {
    rw_mutex<Policy> lock;
    sys::cell<int> data{0};
    lock.lock_shared();
    sys::thread reader([&] {
        lock.lock_shared();
        (void)data.read();
        lock.unlock_shared();
    });
    sys::thread writer([&] {
        lock.lock();
        data.write(data.read() + 1);
        lock.unlock();
    });
    (void)data.read();
    lock.unlock_shared();
    reader.join();
    writer.join();
    check::that(data.read() == 1, "written once");
    check::that(lock.try_lock(), "free at the end");
    lock.unlock();
}

/// Locks an rw_mutex like a coroutine. The constructor enters the lock or joins the queue.
template <class Lock>
struct queued_thread {
    queued_thread(Lock& lock, bool writes) {
        using rules = rw_rules<Lock::policy>;
        entry->mask = writes ? rules::writer_enters : rules::reader_enters;
        entry->transition = writes ? &begin_writing : &begin_reading;
        entry->pure = true;
        entry->context = &inside;
        entry->resume = [](waiter& w) noexcept { static_cast<sys::parker*>(w.context)->unpark(); };
        is_queued = !detail::lock_access::core(lock).start(*entry);
    }
    /// Waits until the lock is held.
    void wait() {
        if (is_queued) inside.park();
    }
    static state_value begin_writing(void*, state_value now) noexcept {
        return detail::lock_access::begin_writing<Lock>(now);
    }
    static state_value begin_reading(void*, state_value now) noexcept {
        return detail::lock_access::begin_reading<Lock>(now);
    }

    sys::parker inside;
    async_waiter entry;
    bool is_queued = false;
};

/// A reader that stays inside, a writer that gives up, and a reader, not a thread, that must get in then.
template <rw_policy Policy>
void writer_gives_up() {
    using lock_type = rw_mutex<Policy>;
    lock_type lock;
    sys::cell<int> data{0};
    lock.lock_shared();
    sys::thread writer([&] {
        if (lock.try_lock_for(std::chrono::milliseconds(1))) {
            data.write(1);
            lock.unlock();
        }
    });
    queued_thread<lock_type> reader(lock, false);
    reader.wait();
    (void)data.read();
    lock.unlock_shared();
    lock.unlock_shared();
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

EKIDEN_MODEL(rw_writer_next_gives_up, .about = "a writer that gives up lets readers in", .preemptions = 3) {
    writer_gives_up<rw_policy::writer_next>();
}
EKIDEN_MODEL(rw_writer_first_gives_up, .about = "the same under writer_first", .preemptions = 3) {
    writer_gives_up<rw_policy::writer_first>();
}
EKIDEN_MODEL(rw_fifo_gives_up, .about = "the same under fifo", .preemptions = 3) {
    writer_gives_up<rw_policy::fifo>();
}

EKIDEN_MODEL(rw_fifo_run, .about = "under fifo, run() does not overtake a reader that came before it",
             .preemptions = 3) {
    rw_mutex<rw_policy::fifo> lock;
    sys::cell<bool> has_read{false};
    lock.lock();
    queued_thread reader(lock, false);
    sys::thread later([&] { lock.run([&] { check::that(has_read.read(), "the reader was first"); }); });
    lock.unlock();
    reader.wait();
    has_read.write(true);
    lock.unlock_shared();
    later.join();
}

EKIDEN_MODEL(rw_fifo_upgrade, .about = "under fifo, an upgrade does not wait for a writer that waits",
             .preemptions = 3) {
    rw_mutex<rw_policy::fifo> lock;
    sys::cell<int> data{0};
    lock.lock_shared();
    lock.lock_shared();
    queued_thread writer(lock, true);
    sys::thread other([&] { lock.unlock_shared(); });
    check::that(lock.upgrade(), "no other reader upgrades");
    data.write(1);
    lock.unlock();
    writer.wait();
    check::that(data.read() == 1, "the upgrade was first");
    lock.unlock();
    other.join();
}

EKIDEN_MODEL(rw_readers_turn, .old_values = 1, .about = "after a writer it is the turn of a reader",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    rw_mutex<rw_policy::writer_first> lock;
    sys::cell<int> data{0};
    const auto write = [&] {
        data.write(data.read() + 1);
        lock.unlock();
    };
    lock.lock();
    sys::thread reader([&] {
        lock.lock_shared();
        (void)data.read();
        lock.unlock_shared();
    });
    sys::thread writer([&] {
        lock.lock();
        write();
    });
    write();
    lock.lock();
    write();
    reader.join();
    writer.join();
    check::that(data.read() == 3, "every writer was alone");
    check::that(lock.try_lock(), "free at the end");
    lock.unlock();
}

EKIDEN_MODEL(semaphore_loop, .about = "a permit taken and given back by three threads", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    counting_semaphore<> permits(1);
    sys::cell<int> count{0};
    const auto work = [&] {
        permits.acquire();
        count.write(count.read() + 1);
        permits.release();
    };
    sys::thread second(work);
    sys::thread third(work);
    work();
    second.join();
    third.join();
    check::that(count.read() == 3, "one at a time");
    check::that(permits.try_acquire(), "the permit is there");
    check::that(!permits.try_acquire(), "which is one");
}

EKIDEN_MODEL(semaphore_released_together, .about = "two permits given back at once, one waiter may give up",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    counting_semaphore<> permits(0);
    sys::cell<int> message{0};
    bool got = false;
    sys::thread second([&] {
        permits.acquire();
        check::that(message.read() == 1, "what was done before the release is seen");
    });
    sys::thread third([&] {
        got = permits.try_acquire_for(std::chrono::milliseconds(1));
        if (got) check::that(message.read() == 1, "by this one too");
    });
    message.write(1);
    permits.release(2);
    second.join();
    third.join();
    check::that(permits.try_acquire() != got, "no permit is lost");
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

EKIDEN_MODEL(rw_upgrade_gives_up,
             .about = "an upgrade gives up as the last other reader leaves: a reader again, or the writer",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    rw_mutex<> lock;
    sys::cell<int> data{0};
    lock.lock_shared();
    sys::thread upgrader([&] {
        lock.lock_shared();
        const int seen = data.read();
        if (lock.try_upgrade_for(std::chrono::milliseconds(1))) {
            check::that(data.read() == seen, "no writer came in between");
            data.write(seen + 1);
            lock.unlock();
        } else {
            check::that(data.read() == seen, "still a reader");
            lock.unlock_shared();
        }
    });
    (void)data.read();
    lock.unlock_shared();
    lock.lock();
    data.write(data.read() + 1);
    lock.unlock();
    upgrader.join();
    check::that(data.read() == 1 || data.read() == 2, "each writer was alone");
}

EKIDEN_MODEL(rw_upgrade_lets_readers_in, .about = "an upgrade that gives up lets a waiting reader in",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    rw_mutex<> lock;
    lock.lock_shared();
    lock.lock_shared();
    sys::thread reader([&] {
        lock.lock_shared();
        lock.unlock_shared();
    });
    // The other hold of this thread stays, so the upgrade cannot succeed.
    check::that(!lock.try_upgrade_for(std::chrono::milliseconds(1)), "another reader is inside");
    reader.join();
    lock.unlock_shared();
    lock.unlock_shared();
    check::that(lock.try_lock(), "free at the end");
    lock.unlock();
}

EKIDEN_MODEL(barrier_reuse, .about = "two rounds of a barrier of two", .preemptions = 3, .weak_failures = 0) {
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
    (void)b.arrive(); // a waiter less is much to explore less
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
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
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

EKIDEN_MODEL(bounded_buffer_close, .about = "items pushed before close come out, waits end", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    bounded_buffer<int> buffer(1);
    sys::thread producer([&] {
        (void)buffer.push(1);
        (void)buffer.push(2);
        buffer.close();
    });
    int sum = 0;
    while (std::optional<int> item = buffer.pop()) sum += *item;
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

EKIDEN_MODEL(event_query,
             .about = "a set event is set for its setter, whoever is inside, and publishes what was before",
             .preemptions = 3) {
    event e;
    sys::cell<int> data{0};
    sys::thread timed([&] { // is inside for some steps when it gives up
        if (e.wait(wait_limit::after(std::chrono::milliseconds(1))))
            check::that(data.read() == 1, "what was before the set");
    });
    sys::thread asks([&] {
        if (e.is_set()) check::that(data.read() == 1, "what was before the set");
    });
    data.write(1);
    e.set();
    check::that(e.is_set(), "set");
    timed.join();
    asks.join();
}

EKIDEN_MODEL(sequencer_calls, .about = "two callers, one server: each call is answered in turn",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    sequencer<int, int> queue;
    int total = 0; // the server alone touches it
    const auto call = [&] {
        const auto [number, value] = *queue.call(1);
        check::that(value == static_cast<int>(number) + 1, "the reply to this number");
    };
    sys::thread first(call);
    sys::thread second(call);
    const auto handler = [&](std::uint64_t number, int x) {
        check::that(total == static_cast<int>(number), "in order");
        return total += x;
    };
    while (queue.processed() < 2) {
        if (queue.serve_ready(handler) == 0) sys::yield();
    }
    first.join();
    second.join();
}

EKIDEN_MODEL(sequencer_sleeps, .about = "a server that sleeps wakes for a call and for the end",
             .preemptions = 3) {
    sequencer<int, int> queue;
    sys::thread caller([&] {
        check::that(queue.call(1)->reply == 2, "answered");
        queue.close();
    });
    queue.serve([](std::uint64_t, int x) { return x + 1; });
    check::that(queue.processed() == 1, "before the end");
    caller.join();
}

EKIDEN_MODEL(spin_mutex_two, .about = "mutual exclusion of a spinning mutex", .preemptions = 4) {
    one_after_the_other<spin_mutex>();
}
EKIDEN_MODEL(mutex_two, .about = "mutual exclusion in one step a side", .preemptions = 3) {
    one_after_the_other<mutex>();
}

EKIDEN_MODEL(fifo_mutex_numbers, .about = "successive owners have successive numbers", .preemptions = 3) {
    fifo_mutex lock;
    sys::cell<std::uint32_t> next{0};
    const auto work = [&] {
        const std::uint32_t number = lock.lock_numbered();
        check::that(number == next.read(), "in order");
        next.write(number + 1);
        lock.unlock();
    };
    sys::thread other(work);
    work();
    other.join();
    check::that(next.read() == 2, "both");
}

EKIDEN_MODEL(latch_two, .about = "a wait sees what was done before each count", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    latch done(2);
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    sys::thread one([&] {
        left.write(1);
        done.count_down();
    });
    sys::thread two([&] {
        right.write(1);
        done.count_down();
    });
    done.wait();
    check::that(left.read() + right.read() == 2, "both are seen");
    one.join();
    two.join();
}

} // namespace locks_models

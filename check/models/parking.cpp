// What everything sleeps on: sys::parker and sys::slow_lock over the futex.
#include <check/engine/model.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/process_lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <memory>
#include <mutex>

namespace parking_models {

namespace {
using namespace ekiden;
}

EKIDEN_MODEL(parker_token, .about = "an unpark is not lost, and orders what came before it",
             .preemptions = 5) {
    sys::parker p;
    sys::cell<int> message{0};
    sys::thread waker([&] {
        message.write(1);
        p.unpark();
    });
    p.park();
    check::that(message.read() == 1, "park returns with the token");
    waker.join();
}

EKIDEN_MODEL(parker_two_rounds, .about = "the word is usable again after each park", .preemptions = 4) {
    sys::parker ping;
    sys::parker pong;
    sys::cell<int> message{0};
    sys::thread other([&] {
        ping.park();
        check::that(message.read() == 1, "first round");
        message.write(2);
        pong.unpark();
        ping.park();
    });
    message.write(1);
    ping.unpark();
    pong.park();
    check::that(message.read() == 2, "second round");
    ping.unpark();
    other.join();
}

EKIDEN_MODEL(parker_destruction, .about = "the parker may die as soon as its park has returned",
             .preemptions = 5) {
    auto p = std::make_unique<sys::parker>();
    sys::thread waker([&parker = *p] { parker.unpark(); });
    p->park();
    p.reset();
    waker.join();
}

EKIDEN_MODEL(parker_timeout, .about = "a timeout and an unpark at the same time", .preemptions = 4) {
    sys::parker p;
    sys::cell<int> message{0};
    sys::thread waker([&] {
        message.write(1);
        p.unpark();
    });
    const auto deadline = sys::clock::now() + std::chrono::milliseconds(1);
    if (p.park_until(deadline)) {
        check::that(message.read() == 1, "the token orders");
    } else {
        check::that(sys::clock::now() >= deadline, "without a token only after the deadline");
        p.park(); // the token comes
    }
    waker.join();
}

namespace {

template <class Lock>
void count_in_two_threads() {
    Lock lock;
    sys::cell<int> count{0};
    const auto work = [&] {
        std::lock_guard guard(lock);
        count.write(count.read() + 1);
    };
    sys::thread other(work);
    work();
    other.join();
    check::that(count.read() == 2, "both have counted");
}

template <class Lock>
void count_in_three_threads() {
    Lock lock;
    sys::cell<int> count{0};
    const auto work = [&] {
        std::lock_guard guard(lock);
        count.write(count.read() + 1);
    };
    sys::thread second(work);
    sys::thread third(work);
    work();
    second.join();
    third.join();
    check::that(count.read() == 3, "all have counted");
}

} // namespace

EKIDEN_MODEL(slow_lock_two, .about = "mutual exclusion and no lost wake-up", .preemptions = 5) {
    count_in_two_threads<sys::slow_lock>();
}

EKIDEN_MODEL(slow_lock_three, .about = "three threads, so that one sleeper may hide another") {
    count_in_three_threads<sys::slow_lock>();
}

EKIDEN_MODEL(process_lock_two, .about = "mutual exclusion and no lost wake-up", .preemptions = 5) {
    count_in_two_threads<sys::process_lock>();
}

EKIDEN_MODEL(process_lock_three, .about = "three threads, so that one sleeper may hide another") {
    count_in_three_threads<sys::process_lock>();
}

/// Only one thread exists in the child at the fork, so the fork is a change of the generation between two
/// steps. The thread of the parent never unlocks.
EKIDEN_MODEL(process_lock_in_child, .about = "the lock that a thread of the parent held is free in the child",
             .preemptions = 5) {
    sys::process_lock lock;
    lock.lock();
    ++sys::fork_generation_here;
    sys::cell<int> count{0};
    const auto work = [&] {
        std::lock_guard guard(lock);
        count.write(count.read() + 1);
    };
    sys::thread other(work);
    work();
    other.join();
    check::that(count.read() == 2, "both have counted");
    --sys::fork_generation_here;
}

} // namespace parking_models

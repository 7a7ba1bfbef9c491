// The table of threads that sleep on a word until a deadline, for systems whose own waits have no exact
// deadline.
#include <check/engine/model.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/timed_sleepers.hpp>

#include <chrono>

namespace timed_sleepers_models {

namespace {
using namespace ekiden;

/// An event of a thread. With `Ends` false, its wait ends only by set(), so that a lost wake-up is a
/// deadlock.
template <bool Ends>
class thread_event {
public:
    void set() noexcept { token_.unpark(); }
    void reset() noexcept {
        if (token_.has_token()) token_.park();
    }
    void wait_until(sys::clock::time_point deadline) noexcept {
        if constexpr (Ends)
            (void)token_.park_until(deadline);
        else
            token_.park();
    }

private:
    sys::parker token_;
};

/// A word with sleepers of both kinds, as on Windows.
template <bool Ends>
struct place {
    sys::atomic<std::uint32_t> word{0};
    sys::timed_sleepers<sys::slow_lock, thread_event<Ends>> timed;

    bool wait_until(std::uint32_t expected, sys::clock::time_point deadline) {
        thread_event<Ends> event;
        return timed.wait_until(word, expected, event, deadline);
    }
    void wake(int count) {
        for (int woken = timed.wake(&word, count); woken < count; ++woken) sys::futex_wake(word);
    }
};

sys::clock::time_point soon() { return sys::clock::now() + std::chrono::milliseconds(1); }

} // namespace

EKIDEN_MODEL(timed_sleepers_one, .about = "a wake-up of a timed sleeper is not lost", .preemptions = 4) {
    place<false> here;
    sys::thread waker([&] {
        here.word.store(1, sys::relaxed);
        here.wake(1);
    });
    while (here.word.load(sys::relaxed) == 0) (void)here.wait_until(0, soon());
    waker.join();
}

EKIDEN_MODEL(timed_sleepers_two, .about = "a wake-up of two reaches sleepers of both kinds") {
    place<false> here;
    sys::thread waker([&] {
        here.word.store(1, sys::relaxed);
        here.wake(2);
    });
    sys::thread untimed([&] {
        while (here.word.load(sys::relaxed) == 0) sys::futex_wait(here.word, 0);
    });
    while (here.word.load(sys::relaxed) == 0) (void)here.wait_until(0, soon());
    waker.join();
    untimed.join();
}

EKIDEN_MODEL(timed_sleepers_other_value,
             .about = "a wait whose word has another value takes no wake-up from a sleeper") {
    place<true> here;
    sys::thread waker([&] {
        here.word.store(1, sys::relaxed);
        here.wake(1);
    });
    sys::thread untimed([&] {
        while (here.word.load(sys::relaxed) == 0) sys::futex_wait(here.word, 0);
    });
    check::that(here.wait_until(7, soon()), "the word never holds this value");
    waker.join();
    untimed.join();
}

// The number of sleepers is only a hint, so a waker may read any number that a later sleeper has written.
EKIDEN_MODEL(timed_sleepers_deadline, .load_buffering = false,
             .about = "a deadline and a wake-up at the same time", .preemptions = 4) {
    place<true> here;
    sys::thread waker([&] {
        here.word.store(1, sys::relaxed);
        here.wake(1);
    });
    const sys::clock::time_point end = soon();
    if (!here.wait_until(0, end)) check::that(sys::clock::now() >= end, "only the deadline ends a wait so");
    while (here.word.load(sys::relaxed) == 0) (void)here.wait_until(0, soon());
    waker.join();
}

} // namespace timed_sleepers_models

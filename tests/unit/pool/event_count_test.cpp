#include <ekiden/pool/detail/event_count.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::event_count;
using wake_up = event_count::wake_up;

namespace {

/// A number of pieces of work, and the event count of those who take them.
struct work {
    std::atomic<int> pieces{0};
    event_count sleep;

    explicit work(unsigned workers)
        : sleep(
              workers,
              {[](const void* self) noexcept { return static_cast<const work*>(self)->pieces > 0; }, this}) {}

    void bring() {
        ++pieces;
        sleep.notify();
    }
    bool take() {
        for (int n = pieces; n > 0;) {
            if (pieces.compare_exchange_weak(n, n - 1)) return true;
        }
        return false;
    }
};

} // namespace

TEST_CASE("one searcher at a time has the token") {
    work w(2);
    CHECK(w.sleep.try_begin_search());
    CHECK_FALSE(w.sleep.try_begin_search());
    w.sleep.end_search();
    CHECK(w.sleep.try_begin_search());
    w.sleep.prepare_wait(0, true); // gives it back
    CHECK(w.sleep.try_begin_search());
    CHECK(w.sleep.cancel_wait(0) == wake_up::signalled);
}

TEST_CASE("notify gives the token to a worker that is about to sleep") {
    work w(2);
    w.sleep.prepare_wait(1, false);
    w.bring();
    CHECK_FALSE(w.sleep.try_begin_search()); // worker 1 has it
    CHECK(w.sleep.commit_wait(1, nullptr) == wake_up::notified);
    w.sleep.end_search();
}

TEST_CASE("notify wakes nobody while somebody searches, and the searcher passes the word on") {
    work w(2);
    CHECK(w.sleep.try_begin_search());
    w.sleep.prepare_wait(1, false);
    w.bring();
    w.bring();
    const auto soon = ekiden::sys::clock::now() + 1ms;
    CHECK(w.take());
    w.sleep.end_search(); // one piece is left
    CHECK(w.sleep.commit_wait(1, &soon) == wake_up::notified);
    CHECK(w.take());
    w.sleep.end_search();
}

TEST_CASE("a signal wakes without the token, and a deadline without either") {
    work w(1);
    w.sleep.prepare_wait(0, false);
    w.sleep.signal(0);
    CHECK(w.sleep.commit_wait(0, nullptr) == wake_up::signalled);
    w.sleep.signal(0); // nobody there: nothing happens
    w.sleep.prepare_wait(0, false);
    const auto past = ekiden::sys::clock::now() - 1s;
    CHECK(w.sleep.commit_wait(0, &past) == wake_up::timed_out);
    CHECK(w.sleep.try_begin_search());
}

TEST_CASE("signal_any wakes as many sleepers as it says, without the token") {
    work w(4);
    CHECK(w.sleep.signal_any(2) == 0); // no worker sleeps
    for (const unsigned sleeper : {1U, 2U, 3U}) w.sleep.prepare_wait(sleeper, false);
    CHECK(w.sleep.signal_any(2) == 2);
    CHECK(w.sleep.waiting() == 1);
    CHECK(w.sleep.signal_any(2) == 1);
    CHECK(w.sleep.waiting() == 0);
    for (const unsigned sleeper : {1U, 2U, 3U})
        CHECK(w.sleep.commit_wait(sleeper, nullptr) == wake_up::signalled);
    CHECK(w.sleep.try_begin_search()); // no sleeper has received the token
}

TEST_CASE("a watcher checks for work that no thread has announced") {
    work w(2);
    CHECK_FALSE(w.sleep.is_watched());
    for (int round = 0; round != 3; ++round) {
        w.sleep.prepare_wait(0, false);
        CHECK(w.sleep.commit_wait(0, nullptr) == wake_up::timed_out);
        CHECK_FALSE(w.sleep.is_watched()); // no worker sleeps; requests the next watcher
    }
    bool was_watched = false;
    while (!was_watched) {          // until this thread has run in the 10 ms of a watch
        (void)w.sleep.is_watched(); // without a request, the sleep below would have no end
        w.sleep.prepare_wait(0, false);
        std::thread watcher([&w] { CHECK(w.sleep.commit_wait(0, nullptr) == wake_up::timed_out); });
        while (w.sleep.is_waiting(0) && !was_watched) was_watched = w.sleep.is_watched();
        watcher.join();
    }
    CHECK_FALSE(w.sleep.is_watched());
}

TEST_CASE("a watcher that is woken for something else wakes another worker if there is work") {
    work w(2);
    w.sleep.prepare_wait(1, false); // another worker
    (void)w.sleep.is_watched();
    w.sleep.prepare_wait(0, false);
    w.sleep.signal(0);
    ++w.pieces;
    CHECK(w.sleep.commit_wait(0, nullptr) == wake_up::signalled);
    CHECK(w.sleep.cancel_wait(1) == wake_up::notified);
}

TEST_CASE("with workers that come and go, every piece of work is taken") {
    constexpr unsigned workers = 3;
    constexpr int total = 20'000;
    work w(workers);
    std::atomic<int> taken{0};
    std::atomic<bool> done{false};
    std::vector<std::jthread> threads;
    for (unsigned id = 0; id != workers; ++id) {
        threads.emplace_back([&, id] {
            bool token = false;
            while (!done) {
                if (w.take()) {
                    if (token) w.sleep.end_search();
                    token = false;
                    ++taken;
                    continue;
                }
                if (!token && w.sleep.try_begin_search()) {
                    token = true;
                    continue; // looks once more
                }
                w.sleep.prepare_wait(id, token);
                const bool saw_work = w.pieces > 0;
                const wake_up how =
                    saw_work || done ? w.sleep.cancel_wait(id) : w.sleep.commit_wait(id, nullptr);
                token = how == wake_up::notified || (saw_work && w.sleep.try_begin_search());
            }
        });
    }
    std::vector<std::jthread> producers;
    for (int p = 0; p != 2; ++p) {
        producers.emplace_back([&] {
            for (int i = 0; i != total / 2; ++i) {
                w.bring();
                if (i % 64 == 0) std::this_thread::yield();
            }
        });
    }
    producers.clear();
    while (taken != total) std::this_thread::yield();
    done = true;
    w.sleep.signal_all();
    threads.clear();
    CHECK(taken == total);
}

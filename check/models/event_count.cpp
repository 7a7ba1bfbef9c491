// The pool's sleep protocol: whoever publishes work wakes a sleeper or finds one that will look; the token is
// never lost; a sleeper that waits for something else is signalled.
#include <check/engine/model.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/sys/thread.hpp>

namespace event_count_models {

namespace {

using namespace ekiden;

/// Work that is only a number, and workers that do with the event count what pool/detail/worker.cpp does.
class work {
public:
    explicit work(unsigned workers)
        : sleep(workers,
                {[](const void* self) noexcept { return static_cast<const work*>(self)->waiting(); }, this}) {
    }

    void post(int count = 1) {
        queued_.fetch_add(count, sys::release);
        sleep.notify();
    }
    void stop() {
        stopped_.store(true, sys::seq_cst);
        sleep.signal_all();
    }

    /// Takes work until the end; adds what it has done to `done`. `fill` is called with each piece, and may
    /// post.
    template <class Each>
    void run(unsigned w, Each each) {
        bool has_token = false;
        for (;;) {
            bool found = take();
            if (!found && !has_token && !ends()) {
                has_token = sleep.try_begin_search();
                if (has_token) found = take();
            }
            if (has_token && (found || ends())) {
                has_token = false;
                sleep.end_search();
            }
            if (found)
                each();
            else if (ends())
                return;
            else
                has_token = park(w, has_token);
        }
    }

    bool take() {
        int seen = queued_.load(sys::relaxed);
        while (seen > 0) {
            if (queued_.compare_exchange_strong(seen, seen - 1, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    event_count sleep;

private:
    [[nodiscard]] bool waiting() const noexcept { return queued_.load(sys::relaxed) > 0; }
    [[nodiscard]] bool ends() const noexcept { return stopped_.load(sys::relaxed); }

    bool park(unsigned w, bool has_token) {
        sleep.prepare_wait(w, has_token);
        const bool work_came = waiting();
        const event_count::wake_up woken = (work_came && !sleep.is_searched()) || ends()
                                               ? sleep.cancel_wait(w)
                                               : sleep.commit_wait(w, nullptr);
        // Whoever posted it may have relied on this worker as the searcher: it must wake the next one, too.
        return woken == event_count::wake_up::notified || (work_came && sleep.try_begin_search());
    }

    sys::atomic<int> queued_{0};
    sys::atomic<bool> stopped_{false};
};

/// Counts pieces of work; whoever does the last one stops the workers.
struct tally {
    explicit tally(int all) : left(all) {}
    void one(work& from) {
        if (left.fetch_sub(1, sys::acq_rel) == 1) from.stop();
    }
    sys::atomic<int> left;
};

/// Two pieces of work that wait for each other.
class meeting {
public:
    void wait() {
        met_.fetch_add(1, sys::acq_rel);
        while (met_.load(sys::acquire) != 2) sys::yield();
    }

private:
    sys::atomic<int> met_{0};
};

} // namespace

/// The loads of state_ and of the places' words that come before a compare_exchange are hints: what they read
/// too early does no harm, so load buffering is not reported.
#define HINTED_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__)

HINTED_MODEL(sleep_one_worker, .about = "one producer, one worker: no wake-up is lost", .preemptions = 4) {
    work w(1);
    tally t(1);
    sys::thread worker([&] { w.run(0, [&] { t.one(w); }); });
    w.post();
    worker.join();
    check::that(t.left.load(sys::relaxed) == 0, "the work was done");
}

HINTED_MODEL(sleep_two_posts, .about = "two posts, one worker", .preemptions = 3) {
    work w(1);
    tally t(2);
    sys::thread worker([&] { w.run(0, [&] { t.one(w); }); });
    w.post();
    w.post();
    worker.join();
    check::that(t.left.load(sys::relaxed) == 0, "the work was done");
}

HINTED_MODEL(sleep_two_workers, .about = "two workers, two pieces of work", .preemptions = 3, .spurious = 0) {
    work w(2);
    tally t(2);
    sys::thread first([&] { w.run(0, [&] { t.one(w); }); });
    sys::thread second([&] { w.run(1, [&] { t.one(w); }); });
    w.post(2);
    first.join();
    second.join();
    check::that(t.left.load(sys::relaxed) == 0, "the work was done");
}

HINTED_MODEL(sleep_two_producers, .about = "two producers and a worker", .preemptions = 3, .spurious = 0) {
    work w(1);
    tally t(2);
    sys::thread worker([&] { w.run(0, [&] { t.one(w); }); });
    sys::thread producer([&] { w.post(); });
    w.post();
    producer.join();
    worker.join();
    check::that(t.left.load(sys::relaxed) == 0, "the work was done");
}

HINTED_MODEL(sleep_both_needed, .about = "two pieces of work that wait for each other need two workers awake",
             .preemptions = 3, .spurious = 0) {
    work w(2);
    tally t(2);
    meeting both;
    const auto meet = [&] {
        both.wait();
        t.one(w);
    };
    sys::thread first([&] { w.run(0, meet); });
    sys::thread second([&] { w.run(1, meet); });
    w.post();
    w.post();
    first.join();
    second.join();
}

HINTED_MODEL(sleep_spawned_work, .about = "a worker's own post wakes the other one", .preemptions = 2,
             .spurious = 0) {
    work w(2);
    tally t(2);
    sys::atomic<int> pieces{0};
    meeting both;
    const auto each = [&] {
        if (pieces.fetch_add(1, sys::relaxed) == 0) w.post();
        both.wait();
        t.one(w);
    };
    sys::thread first([&] { w.run(0, each); });
    sys::thread second([&] { w.run(1, each); });
    w.post();
    first.join();
    second.join();
}

HINTED_MODEL(
    sleep_token_is_taken_on,
    .about = "a worker takes the token on, while another one is taken off the count that will not look",
    .preemptions = 1) {
    constexpr unsigned sleeper = 0;
    constexpr unsigned searcher = 1;
    constexpr unsigned waits_for_a_result = 2; // and goes on with its task then
    work w(3);
    check::that(w.sleep.try_begin_search(), "nobody else searches");
    w.sleep.prepare_wait(sleeper, false);
    w.sleep.prepare_wait(waits_for_a_result, false);
    for (int pieces = 0; pieces != 2; ++pieces) w.post(); // left to the token
    sys::thread other([&] {
        const bool has_token = w.sleep.commit_wait(sleeper, nullptr) == event_count::wake_up::notified;
        check::that(w.take(), "one piece");
        if (has_token) w.sleep.end_search();
    });
    sys::thread elsewhere([&] { w.sleep.signal(waits_for_a_result); });
    w.sleep.prepare_wait(searcher, true);
    const bool has_token =
        w.sleep.cancel_wait(searcher) == event_count::wake_up::notified || w.sleep.try_begin_search();
    check::that(w.take(), "one piece");
    if (has_token) w.sleep.end_search();
    other.join(); // what it has found waits for the other one
    elsewhere.join();
}

/// Makes `happened` true, and signals worker `w`, which waits for that.
void signal_a_waiter(event_count& sleep, unsigned w) {
    sys::atomic<bool> happened{false};
    sys::thread worker([&] {
        while (!happened.load(sys::acquire)) {
            sleep.prepare_wait(w, false);
            if (happened.load(sys::relaxed))
                (void)sleep.cancel_wait(w);
            else
                (void)sleep.commit_wait(w, nullptr);
        }
    });
    happened.store(true, sys::release);
    sleep.signal(w);
    worker.join();
}

HINTED_MODEL(sleep_signal, .about = "a worker that waits for something else is signalled", .preemptions = 5) {
    event_count sleep(1, {[](const void*) noexcept { return false; }, nullptr});
    signal_a_waiter(sleep, 0);
}

HINTED_MODEL(sleep_signal_follower, .about = "so is one that finds others asleep", .preemptions = 5) {
    event_count sleep(2, {[](const void*) noexcept { return false; }, nullptr});
    sleep.prepare_wait(0, false);
    signal_a_waiter(sleep, 1);
}

HINTED_MODEL(sleep_follower,
             .about = "a worker falls asleep behind one that looks around, and that one wakes it",
             .preemptions = 3, .spurious = 0) {
    work w(2);
    tally t(2);
    meeting both;
    const auto meet = [&] {
        both.wait();
        t.one(w);
    };
    sys::thread poster([&] { w.post(2); });
    sys::thread follower([&] { w.run(1, meet); });
    w.run(0, meet);
    poster.join();
    follower.join();
}

HINTED_MODEL(sleep_signal_any, .about = "wake-ups without the token, at any time, lose no work",
             .preemptions = 2, .spurious = 0) {
    work w(2);
    tally t(2);
    meeting both;
    const auto each = [&] {
        w.sleep.signal_any(2);
        both.wait();
        t.one(w);
    };
    sys::thread first([&] { w.run(0, each); });
    sys::thread second([&] { w.run(1, each); });
    w.post(2);
    first.join();
    second.join();
}

HINTED_MODEL(sleep_signal_any_token, .about = "a wake-up without the token leaves the token free",
             .preemptions = 4) {
    work w(1);
    sys::thread worker([&] {
        w.sleep.prepare_wait(0, false);
        if (w.sleep.commit_wait(0, nullptr) == event_count::wake_up::notified) w.sleep.end_search();
    });
    while (w.sleep.signal_any(1) == 0) sys::yield();
    worker.join();
    check::that(w.sleep.try_begin_search(), "the token is free");
    check::that(!w.sleep.try_begin_search(), "one worker has the token");
}

HINTED_MODEL(sleep_deadline, .about = "a deadline, a notification and the token", .preemptions = 4) {
    work w(1);
    sys::thread producer([&] { w.post(); });
    const auto deadline = sys::clock::now() + std::chrono::milliseconds(1);
    w.sleep.prepare_wait(0, false);
    const event_count::wake_up woken = w.sleep.commit_wait(0, &deadline);
    if (woken == event_count::wake_up::notified) w.sleep.end_search();
    producer.join();
    // Nobody has the token now, so the next searcher gets it.
    check::that(w.sleep.try_begin_search(), "the token is not lost");
}

HINTED_MODEL(sleep_wake_up_carries, .about = "what the waker did before is visible to the woken worker",
             .preemptions = 5) {
    sys::cell<int> note{0};
    sys::atomic<bool> filled{false};
    event_count sleep(1, {[](const void* self) noexcept {
                              return static_cast<const sys::atomic<bool>*>(self)->load(sys::relaxed);
                          },
                          &filled});
    sys::thread producer([&] {
        note.write(1);
        filled.store(true, sys::relaxed); // orders nothing: only the wake-up does
        sleep.notify();
    });
    sleep.prepare_wait(0, false);
    const event_count::wake_up woken =
        filled.load(sys::relaxed) ? sleep.cancel_wait(0) : sleep.commit_wait(0, nullptr);
    if (woken == event_count::wake_up::notified) check::that(note.read() == 1, "the note");
    producer.join();
}

} // namespace event_count_models

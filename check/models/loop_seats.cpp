// The threads inside a loop that many run: how they sleep, are woken, and find out that nothing is left.
#include <check/engine/model.hpp>
#include <ekiden/loop/detail/loop_seats.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

using namespace ekiden;

namespace {

/// Work that is only a number, and threads that do with the seats what loop/detail/shared_loop.cpp does.
class party {
public:
    explicit party(unsigned seats = 2)
        : seats(seats, {[](const void* self) noexcept { return static_cast<const party*>(self)->has_work(); },
                        this}) {}

    void post() {
        queued_.fetch_add(1, sys::release);
        seats.notify();
    }
    /// For the thread itself, which comes to it.
    void defer() { queued_.fetch_add(1, sys::release); }

    /// Takes work until the end, at most so much; calls `each` with each piece. Returns how much.
    template <class Each>
    unsigned run(Each each, unsigned most = ~0U) {
        const unsigned seat = seats.sit_down(true);
        if (seat == loop_seats::none) return 0;
        visit here{*this, seat};
        unsigned count = 0;
        while (count != most && next(here)) {
            here.go_to_work();
            ++count;
            each();
        }
        here.go_to_work();
        seats.stand_up(seat);
        return count;
    }
    unsigned run() { return run_most(~0U); }
    unsigned run_most(unsigned most) {
        return run([] {}, most);
    }

    /// As run(), by a thread with a seat that has the token and has just found nothing.
    unsigned run_as_searcher(unsigned seat) {
        visit here{*this, seat, true};
        unsigned count = 0;
        park(here);
        while (next(here)) {
            here.go_to_work();
            ++count;
        }
        here.go_to_work();
        seats.stand_up(here.seat);
        return count;
    }

    [[nodiscard]] bool has_work() const noexcept { return queued_.load(sys::relaxed) > 0; }

    bool take() {
        int seen = queued_.load(sys::relaxed);
        while (seen > 0) {
            if (queued_.compare_exchange_strong(seen, seen - 1, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    loop_seats seats;
    // An alarm: work that comes when it rings.
    sys::atomic<std::int64_t> alarm{never};
    bool has_alarm = false;

    void set_alarm() {
        alarm.store(0, sys::release);
        seats.alarm_moved();
    }

private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    struct visit {
        party& all;
        unsigned seat;
        bool has_token = false;
        bool keeps_time = false;

        void go_to_work() {
            if (std::exchange(has_token, false)) all.seats.end_search();
            if (std::exchange(keeps_time, false) && all.seats.stop_keeping_time()
                && all.alarm.load(sys::acquire) != never)
                all.seats.alarm_moved();
        }
    };

    bool ring() {
        std::int64_t due = 0;
        if (!has_alarm || !alarm.compare_exchange_strong(due, never, sys::acq_rel, sys::relaxed))
            return false;
        post();
        seats.work_finished();
        return true;
    }

    bool next(visit& here) {
        for (;;) {
            if (seats.is_stopped()) return false;
            if (take()) return true;
            if (ring()) continue;
            if (!here.has_token && !seats.is_last()) here.has_token = seats.try_begin_search();
            if (here.has_token && take()) return true;
            park(here);
        }
    }

    void park(visit& here) {
        seats.prepare_wait(here.seat, std::exchange(here.has_token, false));
        const bool saw_work = has_work();
        if ((saw_work && !seats.is_searched()) || seats.is_stopped()) {
            here.has_token = seats.cancel_wait(here.seat) == loop_seats::wake_up::notified;
            if (saw_work && !here.has_token) here.has_token = seats.try_begin_search();
            return;
        }
        if (!saw_work) {
            const loop_seats::verdict found = seats.try_finish(here.seat);
            if (found != loop_seats::verdict::not_yet) {
                here.has_token = found == loop_seats::verdict::look_again;
                return;
            }
        }
        bool is_due = false;
        if (has_alarm && seats.try_keep_time(here.seat)) {
            here.keeps_time = true;
            is_due = alarm.load(sys::acquire) == 0;
        }
        const loop_seats::wake_up how =
            is_due ? seats.cancel_wait(here.seat) : seats.commit_wait(here.seat, nullptr);
        here.has_token = how == loop_seats::wake_up::notified;
    }

    sys::atomic<int> queued_{0};
};

} // namespace

/// The loads that only decide whether to look closer are hints, so load buffering is not reported.
#define SEATS_MODEL(name, ...)                                                                               \
    EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__, .spurious = 0, .timeouts = 0)

SEATS_MODEL(seats_post_and_end, .about = "a post and the end of work, against one thread's sleep",
            .preemptions = 2) {
    party all(1);
    sys::cell<int> written(0);
    all.seats.work_started();
    sys::thread poster([&] {
        all.post();
        written.write(1);
        all.seats.work_finished();
    });
    check::that(all.run() == 1, "done");
    check::that(written.read() == 1, "and what the work has done is visible");
    poster.join();
}

SEATS_MODEL(seats_two_fall_idle, .old_values = 1,
            .about = "two threads find out together that nothing is left", .preemptions = 2) {
    party all;
    sys::cell<int> first(0);
    sys::cell<int> second(0);
    all.defer();
    sys::thread other([&] {
        (void)all.run([&] { first.write(first.read() + 1); });
        check::that(all.seats.is_stopped(), "stopped");
        (void)second.read();
    });
    (void)all.run([&] { second.write(1); });
    other.join();
    check::that(first.read() + second.read() == 1, "by one of them");
}

SEATS_MODEL(seats_task_posts, .old_values = 2,
            .about = "a thread stays while the task of another may still post", .preemptions = 2) {
    party all;
    unsigned done = 0;
    bool has_posted = false;
    const auto each = [&] {
        if (!std::exchange(has_posted, true)) all.post();
    };
    all.defer();
    sys::thread other([&] { done += all.run(each); });
    const unsigned mine = all.run(each);
    other.join();
    check::that(done + mine == 2, "both were done");
}

SEATS_MODEL(seats_need_two, .old_values = 2,
            .about = "two pieces of work that wait for each other need two threads", .preemptions = 1) {
    party all;
    sys::atomic<int> met{0};
    const auto meet = [&] {
        met.fetch_add(1, sys::acq_rel);
        while (met.load(sys::acquire) != 2) sys::yield();
    };
    all.seats.work_started();
    sys::thread other([&] { (void)all.run(meet); });
    sys::thread poster([&] {
        all.post();
        all.post();
        all.seats.work_finished();
    });
    (void)all.run(meet);
    other.join();
    poster.join();
    check::that(met.load(sys::relaxed) == 2, "both");
}

SEATS_MODEL(seats_token_is_taken_on, .about = "a thread takes the token on, whatever else changes meanwhile",
            .preemptions = 1) {
    party all;
    const unsigned searcher = all.seats.sit_down(true);
    const unsigned sleeper = all.seats.sit_down(true);
    check::that(all.seats.try_begin_search(), "nobody else searches");
    all.seats.work_started();
    all.seats.prepare_wait(sleeper, false);
    for (int pieces = 0; pieces != 2; ++pieces) all.post(); // left to the token
    sys::thread other([&] {
        if (all.seats.commit_wait(sleeper, nullptr) == loop_seats::wake_up::notified) all.seats.end_search();
        check::that(all.take(), "one piece");
        all.seats.stand_up(sleeper);
    });
    sys::thread elsewhere([&] { all.seats.work_finished(); }); // wakes the searcher, and leaves
    all.seats.prepare_wait(searcher, true);
    const bool has_token =
        all.seats.cancel_wait(searcher) == loop_seats::wake_up::notified || all.seats.try_begin_search();
    check::that(all.take(), "one piece");
    if (has_token) all.seats.end_search();
    other.join(); // what it has found waits for the other one
    elsewhere.join();
    all.seats.stand_up(searcher);
}

SEATS_MODEL(seats_work_against_the_decision, .old_values = 1,
            .about = "work ends while two threads fall asleep", .preemptions = 2) {
    party all;
    sys::cell<int> written(0);
    all.seats.work_started();
    sys::thread elsewhere([&] {
        written.write(1);
        all.seats.work_finished();
    });
    sys::thread other([&] { (void)all.run(); });
    check::that(all.run() == 0 && written.read() == 1, "not before the work's end");
    other.join();
    elsewhere.join();
}

SEATS_MODEL(seats_post_against_the_decision, .old_values = 3,
            .about = "what was posted before the context ran out of work is done", .preemptions = 3) {
    party all(1);
    bool was_running = false;
    sys::thread poster([&] {
        all.post();
        was_running = !all.seats.is_stopped();
    });
    const unsigned count = all.run();
    poster.join();
    check::that(count == 1 || !was_running, "posted in time");
}

SEATS_MODEL(seats_two_decide_against_a_post, .old_values = 1,
            .about = "two threads fall idle while one is posted to: who finds them running is served",
            .preemptions = 2) {
    party all;
    bool was_running = false;
    unsigned count = 0;
    sys::thread poster([&] {
        all.post();
        was_running = !all.seats.is_stopped();
    });
    sys::thread other([&] { count += all.run(); });
    const unsigned mine = all.run();
    other.join();
    poster.join();
    check::that(count + mine == 1 || !was_running, "posted in time");
}

SEATS_MODEL(seats_task_begins_work, .old_values = 1,
            .about = "a task that begins work keeps both threads, however it was taken", .preemptions = 1) {
    party all;
    sys::cell<int> written(0);
    all.has_alarm = true; // alarm_moved() wakes without work
    all.post();
    sys::thread setter([&] { all.seats.alarm_moved(); });
    sys::thread worker;
    const auto each = [&] {
        all.seats.work_started();
        worker = sys::thread([&] {
            written.write(1);
            all.seats.work_finished();
        });
    };
    sys::thread other([&] { (void)all.run(each); });
    (void)all.run(each);
    check::that(written.read() == 1, "not before the work's end");
    other.join();
    setter.join();
    worker.join();
}

SEATS_MODEL(seats_stop, .old_values = 0, .about = "a stop against a post and two sleeps", .preemptions = 2) {
    party all;
    sys::cell<int> before(0);
    all.seats.work_started();
    sys::thread stopper([&] {
        before.write(1);
        all.seats.stop();
    });
    sys::thread other([&] { (void)all.run(); });
    (void)all.run();
    check::that(all.seats.is_stopped() && before.read() == 1, "what came before the stop is visible");
    other.join();
    stopper.join();
}

SEATS_MODEL(seats_restart, .about = "a stop, a restart, and the work that was left", .preemptions = 2) {
    party all(1);
    all.seats.work_started();
    sys::thread elsewhere([&] {
        all.post();
        all.seats.stop();
    });
    const unsigned count = all.run();
    elsewhere.join();
    all.seats.restart();
    all.seats.work_finished();
    check::that(count + all.run() == 1, "the work was kept");
    check::that(all.seats.is_stopped(), "and then there is none");
}

SEATS_MODEL(seats_leave, .old_values = 2,
            .about = "a thread that leaves after one task lets the other one find out, or go on",
            .preemptions = 2) {
    party all;
    unsigned other_count = 0;
    all.defer();
    sys::thread other([&] { other_count = all.run(); });
    const unsigned mine = all.run([&] { all.defer(); }, 1);
    other.join();
    check::that(mine == 0 ? other_count == 1 : other_count == 1, "what was deferred is done by the other");
    check::that(all.seats.is_stopped(), "stopped");
}

SEATS_MODEL(seats_leave_while_work_goes_on, .old_values = 1,
            .about = "a thread that leaves wakes the other one for what it leaves behind", .preemptions = 2) {
    party all;
    sys::atomic<int> done{0};
    const auto each = [&] {
        if (done.fetch_add(1, sys::relaxed) == 0)
            all.defer();
        else
            all.seats.work_finished();
    };
    all.seats.work_started(); // so that the one that is left does not look again in order to decide
    all.defer();
    sys::thread other([&] { (void)all.run(each); });
    (void)all.run(each, 1);
    other.join();
    check::that(done.load(sys::relaxed) == 2 && all.seats.is_stopped(), "both were done");
}

SEATS_MODEL(seats_post_left_to_the_searcher, .old_values = 0,
            .about = "a poster relies on a thread that searches, and that falls asleep as the last one",
            .preemptions = 3) {
    party all;
    bool was_running = false;
    unsigned count = 0;
    const unsigned seat = all.seats.sit_down(true);
    (void)all.seats.try_begin_search();
    sys::thread other([&] { count += all.run(); });
    sys::thread poster([&] {
        all.post();
        was_running = !all.seats.is_stopped();
    });
    const unsigned mine = all.run_as_searcher(seat);
    other.join();
    poster.join();
    check::that(count + mine == 1 || !was_running, "posted in time");
}

SEATS_MODEL(seats_only_one, .old_values = 2,
            .about = "a thread that found no seat takes that of one that leaves", .preemptions = 2) {
    party all(1);
    all.seats.work_started();
    all.defer();
    all.defer();
    unsigned other_count = 0;
    sys::thread other([&] { other_count = all.run_most(1); });
    check::that(all.run_most(1) == 1, "one");
    other.join();
    check::that(other_count == 1, "and the other");
}

SEATS_MODEL(seats_without_a_seat, .old_values = 2,
            .about = "a thread without a seat returns when the context stops", .preemptions = 2) {
    party all(1);
    all.defer();
    sys::thread other([&] { (void)all.run(); });
    (void)all.run();
    other.join();
    check::that(all.seats.is_stopped(), "stopped");
}

SEATS_MODEL(seats_alarm, .old_values = 2,
            .about = "an alarm that is set while the threads fall asleep is rung", .preemptions = 1) {
    party all;
    all.has_alarm = true;
    all.seats.work_started();
    unsigned count = 0;
    sys::thread setter([&] { all.set_alarm(); });
    sys::thread other([&] { count += all.run(); });
    const unsigned mine = all.run();
    setter.join();
    other.join();
    check::that(count + mine == 1, "rung once");
}

SEATS_MODEL(seats_keeper_goes_to_work, .old_values = 1,
            .about = "the thread that watches the clock is held up: another one does", .preemptions = 1) {
    party all;
    all.has_alarm = true;
    all.seats.work_started(); // the alarm
    all.seats.work_started(); // the poster
    sys::atomic<bool> has_rung{false};
    bool is_first = true;
    const auto each = [&] {
        if (std::exchange(is_first, false)) {
            while (!has_rung.load(sys::acquire)) sys::yield();
        } else {
            has_rung.store(true, sys::release);
        }
    };
    sys::thread poster([&] {
        all.post();
        all.set_alarm();
        all.seats.work_finished();
    });
    sys::thread other([&] { (void)all.run(each); });
    (void)all.run(each);
    poster.join();
    other.join();
    check::that(has_rung.load(sys::relaxed), "rung");
}

SEATS_MODEL(seats_end, .about = "the context ends when its work has ended, or it was stopped",
            .preemptions = 3) {
    auto all = std::make_unique<party>(1);
    all->seats.work_started();
    const bool stops = check::choose(2) == 1;
    sys::thread elsewhere([stops, at = all.get()] {
        if (stops)
            at->seats.stop();
        else
            at->seats.work_finished();
    });
    check::that(all->run() == 0, "nothing to do");
    all.reset();
    elsewhere.join();
}

SEATS_MODEL(seats_searcher_goes_to_work, .old_values = 1,
            .about = "a poster relies on a searcher that goes to work, and waits for what was posted",
            .preemptions = 2) {
    party all;
    sys::atomic<bool> is_done{false};
    all.seats.work_started();
    const unsigned seat = all.seats.sit_down(true);
    (void)all.seats.try_begin_search();
    sys::thread sleeper([&] { (void)all.run([&] { is_done.store(true, sys::release); }); });
    sys::thread poster([&] { all.post(); });
    all.seats.end_search();
    while (!is_done.load(sys::acquire)) sys::yield();
    all.seats.work_finished();
    all.seats.stand_up(seat);
    sleeper.join();
    poster.join();
}

SEATS_MODEL(seats_token_comes_back, .old_values = 1,
            .about = "a poster relies on a thread that has found no sleeper and gives the token back",
            .preemptions = 2) {
    party all(1);
    all.seats.work_started();
    const unsigned seat = all.seats.sit_down(true);
    sys::thread sleeper([&] {
        all.seats.prepare_wait(seat, false);
        if (all.has_work() && !all.seats.is_searched())
            (void)all.seats.cancel_wait(seat);
        else
            (void)all.seats.commit_wait(seat, nullptr);
    });
    sys::thread first([&] { all.seats.notify(); }); // for work that somebody has taken since
    sys::thread second([&] { all.post(); });
    sleeper.join();
    first.join();
    second.join();
}

SEATS_MODEL(seats_wake_up_carries, .about = "what the waker did before is visible to the woken thread",
            .preemptions = 3) {
    party all(1);
    sys::cell<int> note{0};
    all.seats.work_started();
    sys::thread waker([&] {
        note.write(1);
        all.defer();
        all.seats.notify();
    });
    const unsigned seat = all.seats.sit_down(true);
    all.seats.prepare_wait(seat, false);
    const loop_seats::wake_up woken =
        all.has_work() ? all.seats.cancel_wait(seat) : all.seats.commit_wait(seat, nullptr);
    if (woken == loop_seats::wake_up::notified) check::that(note.read() == 1, "the note");
    waker.join();
}

SEATS_MODEL(
    seats_alarm_and_its_keeper, .old_values = 1,
    .about = "the one that watches the clock learns of a new alarm, though another one was woken for it",
    .preemptions = 2) {
    party all;
    all.seats.work_started();
    sys::atomic<bool> is_set{false};
    const auto watch = [&] {
        const unsigned seat = all.seats.sit_down(true);
        if (seat == loop_seats::none) return;
        while (!all.seats.is_stopped()) {
            all.seats.prepare_wait(seat, false);
            if (all.seats.is_stopped()) {
                (void)all.seats.cancel_wait(seat);
            } else if (all.seats.try_keep_time(seat) && is_set.load(sys::relaxed)) {
                (void)all.seats.cancel_wait(seat);
                all.seats.stop();
            } else {
                (void)all.seats.commit_wait(seat, nullptr);
            }
        }
        all.seats.stand_up(seat);
    };
    sys::thread other(watch);
    sys::thread setter([&] {
        is_set.store(true, sys::relaxed);
        all.seats.alarm_moved();
    });
    watch();
    other.join();
    setter.join();
}

SEATS_MODEL(seats_passed_on, .about = "the next in a seat sees what was left there", .preemptions = 3) {
    party all(1);
    sys::cell<int> left{0};
    all.seats.work_started();
    const auto visit = [&] {
        const unsigned seat = all.seats.sit_down(true);
        left.write(left.read() + 1);
        all.seats.stand_up(seat);
    };
    sys::thread other(visit);
    visit();
    other.join();
    check::that(left.read() == 2, "both");
}

SEATS_MODEL(seats_leaver_is_seen, .about = "a thread that stops sees what one that left has done",
            .preemptions = 3) {
    party all;
    sys::cell<int> written{0};
    const unsigned seat = all.seats.sit_down(true);
    const unsigned other_seat = all.seats.sit_down(true);
    sys::thread other([&] {
        for (;;) {
            all.seats.prepare_wait(other_seat, false);
            const loop_seats::verdict found = all.seats.try_finish(other_seat);
            if (found == loop_seats::verdict::stopped) break;
            if (found == loop_seats::verdict::not_yet) (void)all.seats.commit_wait(other_seat, nullptr);
            if (found == loop_seats::verdict::look_again) all.seats.end_search();
        }
        // Before stand_up(): its step in the word of the seats sees who has left as well.
        check::that(written.read() == 1, "the write");
        all.seats.stand_up(other_seat);
    });
    written.write(1);
    all.seats.stand_up(seat);
    other.join();
}

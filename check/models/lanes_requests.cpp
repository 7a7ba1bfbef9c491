// lanes: requests with several keys. Their posts against each other, against posts of one key and against
// close(), readers and writers, and a context that refuses the drains.
#include <check/models/lanes_model.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace lanes_requests_models {

namespace {

using namespace ekiden;
using namespace ekiden_model;

/// The function of a request, which calls a function for each key.
template <class A, class B>
auto both(A one, B two) {
    return [one = std::move(one), two = std::move(two)] {
        one();
        two();
    };
}

} // namespace

STRAND_MODEL(lanes_requests_two_shards, .about = "the keys of these models are in two shards") {
    two_places context;
    account all;
    const test_lanes l(one_place::executor{context}, two_shards);
    (void)l.post(low, all.note(0));
    (void)l.post(high, all.note(1));
    check::that(context.place.load(sys::relaxed) != nullptr && context.other.load(sys::relaxed) != nullptr,
                "each shard has its drain in the context");
    check::that(context.place.load(sys::relaxed) < context.other.load(sys::relaxed),
                "the first key is in the first shard");
    (void)l.post({high, low}, all.note(2));
    (void)context.run_one();
    check::that(all.ran.size() == 1, "the request waits for its second key");
    all.run_until(context, 3);
    check::that(all.ran.size() == 3 && all.ran.back() == 2 && l.active() == 0, "it ran last");
}

STRAND_MODEL(lanes_request_against_end,
             .about = "a request is posted while its predecessor ends, then the lanes are destroyed",
             .preemptions = 2) {
    two_places context;
    account all;
    auto l = std::make_unique<test_lanes>(one_place::executor{context}, two_shards);
    (void)l->post(low, all.note(0));
    sys::thread runner([&] { all.run_until(context, 2); });
    (void)l->post({low, high}, all.note(1));
    l.reset();
    runner.join();
    check::that(all.ran.size() == 2 && all.in_order(0, 1), "each ran once, in order");
}

STRAND_MODEL(lanes_request_granted_by_two,
             .about = "[LN3] two threads grant the claims of a request, which sees what both have done",
             .preemptions = 2) {
    two_places context;
    account first;
    account second;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, first.note(0));
        (void)l.post(high, second.note(0));
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        sys::thread runner([&] { (void)context.run_one(); });
        first.run_until(context, 2);
        runner.join();
        second.run_until(context, 2);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(first.in_order(0, 1) && second.in_order(0, 1), "each ran once, in order");
}

HINT_MODEL(lanes_request_against_other_lane,
           .about = "a request is posted while another thread posts for a lane of the same shard",
           .preemptions = 2) {
    two_places context;
    account first;
    account other;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] { (void)l.post(low_too, other.note(0)); });
        (void)l.post({low, high}, first.note(0));
        first.run_until(context, 1);
        other.run_until(context, 1);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
    }
}

STRAND_MODEL(lanes_requests_cross, .about = "two threads post requests with the same keys",
             .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] { (void)l.post({low, high}, all.note(0)); });
        (void)l.post({high, low}, all.note(1));
        all.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(all.ran.size() == 2, "each ran once");
}

HINT_MODEL(lanes_request_against_posts,
           .about = "[LN2] a thread posts for two keys in turn, while another posts a request",
           .preemptions = 2) {
    two_places context;
    account first;
    account second;
    const bool is_forward = check::choose(2) == 0;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] {
            (void)l.post(is_forward ? low : high, first.note(0));
            (void)l.post(is_forward ? high : low, second.note(0));
        });
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        poster.join();
        first.run_until(context, 2);
        second.run_until(context, 2);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(!(second.in_order(0, 1) && first.in_order(1, 0)), "the posts have one order");
}

HINT_MODEL(lanes_request_against_posts_and_drain, .about = "[LN2] as before, while the lanes run",
           .preemptions = 1) {
    two_places context;
    account first;
    account second;
    const bool is_forward = check::choose(2) == 0;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] {
            (void)l.post(is_forward ? low : high, first.note(0));
            (void)l.post(is_forward ? high : low, second.note(0));
        });
        sys::thread runner([&] { first.run_until(context, 2); });
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        poster.join();
        runner.join();
        second.run_until(context, 2);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(!(second.in_order(0, 1) && first.in_order(1, 0)), "the posts have one order");
}

HINT_MODEL(
    lanes_request_against_posts_of_two,
    .about = "[LN2] one thread posts for a key, then another for a second key, and one posts a request",
    .preemptions = 1) {
    two_places context;
    account first;
    account second;
    const bool is_forward = check::choose(2) == 0;
    sys::atomic<bool> is_posted{false};
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread one([&] {
            (void)l.post(is_forward ? low : high, first.note(0));
            is_posted.store(true, sys::release);
        });
        sys::thread two([&] {
            while (!is_posted.load(sys::acquire)) sys::yield();
            (void)l.post(is_forward ? high : low, second.note(0));
        });
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        one.join();
        two.join();
        first.run_until(context, 2);
        second.run_until(context, 2);
    }
    check::that(!(second.in_order(0, 1) && first.in_order(1, 0)), "the posts have one order");
}

HINT_MODEL(lanes_requests_against_posts,
           .about = "[LN2] a thread posts for two keys in turn, while two threads post requests",
           .preemptions = 1) {
    two_places context;
    account first;
    account second;
    const bool is_forward = check::choose(2) == 0;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] {
            (void)l.post(is_forward ? low : high, first.note(0));
            (void)l.post(is_forward ? high : low, second.note(0));
        });
        sys::thread other([&] { (void)l.post({low, high}, both(first.note(2), second.note(2))); });
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        poster.join();
        other.join();
        first.run_until(context, 3);
        second.run_until(context, 3);
    }
    for (int request = 1; request != 3; ++request) {
        check::that(!(second.in_order(0, request) && first.in_order(request, 0)), "the posts have one order");
    }
}

HINT_MODEL(lanes_request_against_dispatch,
           .about = "[LN2] a thread posts for a key and dispatches for another, while a request is posted",
           .preemptions = 1) {
    two_places context;
    context.is_inside = true;
    account first;
    account second;
    const bool is_forward = check::choose(2) == 0;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] {
            (void)l.post(is_forward ? low : high, first.note(0));
            l.dispatch(is_forward ? high : low, second.note(0));
        });
        (void)l.post({low, high}, both(first.note(1), second.note(1)));
        first.run_until(context, 2);
        second.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(!(second.in_order(0, 1) && first.in_order(1, 0)), "the posts have one order");
}

STRAND_MODEL(lanes_readers, .about = "two readers run at the same time, then the writer sees both",
             .preemptions = 1) {
    one_place context;
    account all;
    sys::cell<int> value{0};
    sys::cell<int> seen[2]{sys::cell<int>(0), sys::cell<int>(0)};
    sys::atomic<int> reading{0};
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        for (int n = 0; n != 2; ++n) {
            (void)l.post(l.keys().read(1), [&, n, place = account::ticket(all)] {
                reading.fetch_add(1, sys::relaxed);
                while (reading.load(sys::relaxed) != 2) sys::yield(); // the other one runs meanwhile
                seen[n].write(value.read() + 1);
            });
        }
        (void)l.post({1, 2}, [&, place = account::ticket(all)] {
            check::that(seen[0].read() + seen[1].read() == 2, "both have read");
            value.write(1);
        });
        sys::thread runner([&] { all.run_until(context, 3); });
        all.run_until(context, 3);
        runner.join();
        run_rest(context);
        check::that(l.active() == 0, "the entry has gone");
    }
}

HINT_MODEL(lanes_readers_against_writer, .about = "a writer is posted while readers end", .preemptions = 1) {
    one_place context;
    account all;
    sys::cell<int> value{0};
    int ran = 0;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        const auto read = [&](int expected) {
            (void)l.post(l.keys().read(1), [&, expected, place = account::ticket(all)] {
                check::that(value.read() == expected, "a reader runs in its turn");
                ++ran;
            });
        };
        read(0);
        read(0);
        sys::thread runner([&] { all.run_until(context, 4); });
        (void)l.post(1, [&, place = account::ticket(all)] {
            check::that(ran == 2, "all earlier readers have run");
            value.write(1);
            ++ran;
        });
        read(1);
        all.run_until(context, 4);
        runner.join();
        run_rest(context);
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(ran == 4, "each ran once");
}

STRAND_MODEL(lanes_close_against_request,
             .about = "a key of a request is closed while its claim waits, or has the lane already",
             .preemptions = 2) {
    two_places context;
    account all;
    const int closed = check::choose(2) == 0 ? low : high;
    sys::atomic<bool> is_closed{false};
    bool is_early = false; // the request must not run
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, [&, note = all.note(0)] {
            note();
            is_early = is_closed.load(sys::acquire);
        });
        (void)l.post({low, high}, all.note(1));
        sys::thread runner([&] { all.run_until(context, 2); });
        (void)l.close(closed);
        is_closed.store(true, sys::release);
        all.run_until(context, 2);
        runner.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
        check::that(all.ran.size() != 2 || !is_early, "a request that was closed early does not run");
        const auto counts = l.metrics();
        check::that(counts.posted == 2 && counts.run == all.ran.size() && counts.run + counts.dropped == 2,
                    "each is counted once");
        (void)l.post({low, high}, all.note(2));
        all.run_until(context, 3);
    }
    check::that(all.gone.load(sys::acquire) == 3 && all.ran.back() == 2, "the lanes are as they were");
}

HINT_MODEL(lanes_request_abandoned,
           .about = "the context closes while a request waits in two shards, behind other functions",
           .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(high, all.note(0));
        sys::thread poster([&] {
            (void)l.post(low, all.note(1));
            (void)l.post({low, high}, all.note(2));
        });
        context.is_closed.store(true, sys::relaxed);
        while (task* const left = context.get()) left->abandon();
        poster.join();
        while (task* const left = context.get()) left->abandon();
        check::that(all.gone.load(sys::acquire) == 3 && all.ran.empty(), "each was abandoned, once");
        check::that(l.active() == 0, "the entries have gone");
        context.is_closed.store(false, sys::relaxed);
        check::that(l.post({low, high}, all.note(3)), "the lanes are as they were");
        all.run_until(context, 4);
    }
    check::that(all.ran.size() == 1, "the last one ran");
}

STRAND_MODEL(lanes_request_abandoned_by_two, .about = "[LN3] two threads abandon the claims of a request",
             .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, all.note(0));
        (void)l.post(high, all.note(1));
        (void)l.post({low, high}, all.note(2));
        const auto abandon_one = [&] {
            if (task* const left = context.get()) left->abandon();
        };
        sys::thread other(abandon_one);
        abandon_one();
        other.join();
        check::that(all.gone.load(sys::acquire) == 3 && all.ran.empty(), "each was abandoned, once");
        check::that(l.active() == 0, "the entries have gone");
    }
}

STRAND_MODEL(lanes_request_refused,
             .about = "the context closes while two threads post requests with the same keys",
             .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] { (void)l.post({low, high}, all.note(0)); });
        context.is_closed.store(true, sys::relaxed);
        (void)l.post({low, high}, all.note(1));
        poster.join();
        while (task* const left = context.get()) left->abandon();
        check::that(all.gone.load(sys::acquire) == 2 && all.ran.empty(), "each was abandoned, once");
        check::that(l.active() == 0, "the entries have gone");
    }
}

HINT_MODEL(lanes_request_thrown,
           .about = "the context throws while two threads post: accepted functions run or are told",
           .preemptions = 2) {
    two_places context;
    context.throws.store(1 + static_cast<int>(check::choose(2)), sys::relaxed);
    account all;
    int accepted = 0;
    const auto post = [&](auto&& give) {
        try {
            accepted += give();
        } catch (int) { // it was not accepted
        }
    };
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] { post([&] { return l.post({low, high}, all.note(0)); }); });
        post([&] { return l.post(high, all.note(1)); });
        all.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
        check::that(l.metrics().dropped == static_cast<std::uint64_t>(context.reports),
                    "what is told is counted");
    }
    check::that(static_cast<int>(all.ran.size()) + context.reports == accepted, "each ran or was told, once");
}

STRAND_MODEL(lanes_request_full, .about = "a request waits for room in one of its lanes", .preemptions = 1,
             .spurious = 0) {
    two_places context;
    account all;
    {
        const test_lanes l(
            one_place::executor{context},
            {.lane_capacity = 1, .policy = when_full::block, .shards = 2, .delay_sampling = 0});
        sys::thread runner([&] { all.run_until(context, 3); });
        check::that(l.post(high, all.note(0)), "it comes in");
        check::that(l.post({low, high}, all.note(1)), "it comes in");
        check::that(l.post(high, all.note(2)), "it comes in");
        runner.join();
    }
    check::that(all.ran.size() == 3 && all.in_order(0, 1) && all.in_order(1, 2), "in order");
}

STRAND_MODEL(lanes_request_turned_away,
             .about = "a request finds one of its lanes full and the other closed: it waits for nothing",
             .preemptions = 1, .spurious = 0) {
    two_places context;
    account all;
    sys::atomic<int> step{0};
    {
        const test_lanes l(
            one_place::executor{context},
            {.lane_capacity = 1, .policy = when_full::block, .shards = 2, .delay_sampling = 0});
        check::that(l.post(high,
                           [&, note = all.note(0)] {
                               note();
                               (void)l.close(high);
                               step.store(1, sys::release);
                               while (step.load(sys::acquire) != 2) sys::yield();
                           }),
                    "it comes in");
        sys::thread runner([&] { all.run_until(context, 1); });
        while (step.load(sys::acquire) != 1) sys::yield();
        check::that(l.post(low, all.note(1)), "it comes in");
        check::that(!l.post({low, high}, all.note(2)), "a lane is closed");
        step.store(2, sys::release);
        runner.join();
        all.run_until(context, 3);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(all.ran.size() == 2, "the others ran");
}

STRAND_MODEL(lanes_close_in_request, .about = "a request closes one of its lanes, and posts to this lane") {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post({low, high}, [&, note = all.note(0)] {
            note();
            (void)l.close(high);
            (void)l.post(high, all.note(1));
        });
        all.run_until(context, 2);
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(all.ran.size() == 1, "the lane is closed until the request ends");
}

STRAND_MODEL(lanes_wait_for_request,
             .about = "a thread waits for a lane of a request that posts to this lane", .preemptions = 1,
             .spurious = 0) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post({low, high}, [&, note = all.note(0)] {
            note();
            (void)l.post(high, all.note(1));
        });
        sys::thread runner([&] { all.run_until(context, 2); });
        l.wait_idle(high);
        check::that(all.ran.size() == 2 && l.metrics().run == 2, "the lane is idle after both");
        runner.join();
    }
}

STRAND_MODEL(lanes_requests_cross_full, .about = "two threads post requests with the same keys to full lanes",
             .preemptions = 2) {
    two_places context;
    account all;
    int accepted = 0;
    {
        const test_lanes l(one_place::executor{context},
                           {.lane_capacity = 1, .shards = 2, .delay_sampling = 0});
        check::that(l.post(high, all.note(0)), "it comes in");
        sys::thread poster([&] { accepted += l.post({low, high}, all.note(1)); });
        accepted += l.post({high, low}, all.note(2));
        all.run_until(context, 3);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entries have gone");
        check::that(l.metrics().rejected == static_cast<std::uint64_t>(2 - accepted), "each refusal counts");
    }
    check::that(static_cast<int>(all.ran.size()) == 1 + accepted, "each ran once, or was refused");
}

} // namespace lanes_requests_models

// lanes: entries vanish while others post, threads share a shard, close against post, full lanes, a context
// that abandons the drain.
#include <check/models/lanes_model.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace lanes_models {

using namespace ekiden;
using namespace ekiden_model;

STRAND_MODEL(lanes_removal_against_post, .about = "an entry vanishes while its key is posted again",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] {
            (void)l.post(1, all.note(0));
            (void)l.post(1, all.note(1));
        });
        all.run_until(context, 2);
        poster.join();
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.ran.size() == 2 && all.in_order(0, 1), "each ran once, in order");
}

STRAND_MODEL(lanes_two_posters, .about = "two threads post for one key", .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] { (void)l.post(1, all.note(0)); });
        (void)l.post(1, all.note(1));
        (void)l.post(1, all.note(2));
        all.run_until(context, 3);
        poster.join();
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.ran.size() == 3 && all.in_order(1, 2), "each ran once, in order");
}

STRAND_MODEL(lanes_two_runners, .about = "two threads run the lanes of a shard", .preemptions = 2) {
    one_place context;
    account first;
    account second;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, first.note(0));
        (void)l.post(2, second.note(0));
        (void)l.post(1, first.note(1));
        sys::thread runner([&] { (void)context.run_one(); });
        first.run_until(context, 2);
        second.run_until(context, 1);
        runner.join();
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(first.ran.size() == 2 && first.in_order(0, 1) && second.ran.size() == 1,
                "each ran once, those of a key in order");
}

STRAND_MODEL(lanes_function_waits_for_another_lane,
             .about = "a function waits for a function of another lane, which another thread runs",
             .preemptions = 2) {
    one_place context;
    account first;
    account second;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, [&, note = first.note(0)] {
            note();
            while (second.gone.load(sys::acquire) == 0) sys::yield();
        });
        (void)l.post(2, second.note(0));
        sys::thread runner([&] { second.run_until(context, 1); });
        first.run_until(context, 1);
        second.run_until(context, 1);
        runner.join();
    }
    check::that(first.ran.size() == 1 && second.ran.size() == 1, "each ran once");
}

STRAND_MODEL(lanes_close_against_post, .about = "a lane is closed while it runs, and posted to",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread runner([&] { all.run_until(context, 2); });
        (void)l.post(1, all.note(0));
        (void)l.post(1, all.note(1));
        (void)l.close(1);
        check::that(all.ran.size() < 2 || all.in_order(0, 1), "what has run is in order");
        runner.join();
        (void)l.post(1, all.note(2));
        all.run_until(context, 3);
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.gone.load(sys::acquire) == 3, "each has gone, once");
}

STRAND_MODEL(lanes_full, .about = "a post waits for room", .preemptions = 1, .spurious = 0) {
    one_place context;
    account all;
    {
        const test_lanes l(
            one_place::executor{context},
            {.lane_capacity = 1, .policy = when_full::block, .shards = 1, .delay_sampling = 0});
        sys::thread runner([&] { all.run_until(context, 3); });
        for (int i = 0; i != 3; ++i) check::that(l.post(1, all.note(i)), "it comes in");
        runner.join();
    }
    check::that(all.ran.size() == 3 && all.in_order(0, 1) && all.in_order(1, 2), "in order");
}

STRAND_MODEL(lanes_all_full, .about = "posts for two lanes wait for one place", .preemptions = 1,
             .spurious = 0) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context},
                           {.capacity = 1, .policy = when_full::block, .shards = 1, .delay_sampling = 0});
        sys::thread runner([&] { all.run_until(context, 2); });
        for (int i = 0; i != 2; ++i) check::that(l.post(i, all.note(i)), "it comes in");
        runner.join();
    }
    check::that(all.ran.size() == 2, "each ran once");
}

STRAND_MODEL(lanes_abandoned_against_post, .about = "the context closes while two threads post",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] {
            (void)l.post(1, all.note(0));
            (void)l.post(2, all.note(1));
        });
        context.is_closed.store(true, sys::relaxed);
        if (task* const left = context.place.exchange(nullptr, sys::acq_rel)) left->abandon();
        poster.join();
        if (task* const left = context.place.exchange(nullptr, sys::acquire)) left->abandon();
        check::that(all.gone.load(sys::acquire) == 2, "each was abandoned, once");
        check::that(l.active() == 0, "the entries have gone");
        context.is_closed.store(false, sys::relaxed);
        check::that(l.post(1, all.note(2)), "the lanes are as they were");
        all.run_until(context, 3);
    }
    check::that(all.ran.size() == 1, "the last one ran");
}

STRAND_MODEL(
    lanes_thrown_against_post,
    .about = "the context throws once or twice while two threads post: accepted functions run or are told",
    .preemptions = 2) {
    one_place context;
    context.throws.store(1 + static_cast<int>(check::choose(2)), sys::relaxed);
    account all;
    account others;
    int accepted = 0;
    const auto post = [&](const test_lanes& l, int key, auto&& function) {
        try {
            accepted += l.post(key, std::forward<decltype(function)>(function));
        } catch (int) { // it was not accepted
        }
    };
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] {
            post(l, 1, all.note(0));
            post(l, 1, all.note(1));
        });
        post(l, 2, others.note(0));
        all.run_until(context, 2);
        others.run_until(context, 1);
        poster.join();
        check::that(l.active() == 0, "the entries have gone");
        check::that(l.metrics().dropped == static_cast<std::uint64_t>(context.reports),
                    "what is told is counted");
    }
    check::that(static_cast<int>(all.ran.size() + others.ran.size()) + context.reports == accepted,
                "each ran or was told, once");
}

STRAND_MODEL(lanes_close_against_full_post, .about = "a lane is closed while a post waits for room",
             .preemptions = 1, .spurious = 0) {
    one_place context;
    account all;
    {
        const test_lanes l(
            one_place::executor{context},
            {.lane_capacity = 1, .policy = when_full::block, .shards = 1, .delay_sampling = 0});
        (void)l.post(1, all.note(0));
        sys::thread closer([&] {
            (void)l.close(1);
            all.run_until(context, 2);
        });
        check::that(l.post(1, all.note(1)), "the post is accepted, now or after the close");
        closer.join();
        run_rest(context);
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.gone.load(sys::acquire) == 2, "each has gone, once");
}

STRAND_MODEL(lanes_dispatch_against_drain,
             .about = "a thread posts for a key, and dispatches, while another thread runs the lanes",
             .preemptions = 2) {
    one_place context;
    context.is_inside = true;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] {
            (void)l.post(1, all.note(0));
            l.dispatch(1, all.note(1));
        });
        all.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.ran.size() == 2 && all.in_order(0, 1), "each ran once, in order");
}

// Load buffering: dispatch only checks whether older posts of its own thread are in the inbox. If it reads a
// push of another thread, it posts, which is always allowed.
EKIDEN_MODEL(lanes_close_against_dispatch, .load_buffering = false, .old_values = 2,
             .about = "a lane is posted to and closed while dispatch calls a function in it",
             .preemptions = 2) {
    one_place context;
    context.is_inside = true;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread runner([&] { l.dispatch(1, all.note(0)); });
        (void)l.post(1, all.note(1));
        (void)l.close(1);
        all.run_until(context, 2);
        runner.join();
        run_rest(context);
        (void)l.post(1, all.note(2));
        all.run_until(context, 3);
        check::that(l.active() == 0, "the entry has gone");
    }
    check::that(all.gone.load(sys::acquire) == 3 && !all.ran.empty() && all.ran.back() == 2,
                "the last one ran");
}

STRAND_MODEL(lanes_two_handles, .about = "lanes and an executor of theirs are destroyed at once",
             .preemptions = 4) {
    one_place context;
    auto l = std::make_unique<test_lanes>(one_place::executor{context}, one_shard);
    sys::thread other([own = std::make_optional(l->get_executor(1))]() mutable { own.reset(); });
    l.reset();
    other.join();
}

STRAND_MODEL(lanes_two_last_drains,
             .about = "[LN1] two threads run the last drains of a shard after the lanes were destroyed",
             .preemptions = 2) {
    one_place context;
    account first;
    account second;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, first.note(0));
        (void)l.post(2, second.note(0));
    }
    sys::thread runner([&] { run_rest(context); });
    run_rest(context);
    runner.join();
    run_rest(context);
    check::that(first.ran.size() == 1 && second.ran.size() == 1, "each ran once");
}

STRAND_MODEL(lanes_wait_gives_up, .about = "a wait for an idle lane gives up while the lane falls idle",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, all.note(0));
        sys::thread runner([&] { all.run_until(context, 1); });
        if (l.wait_idle_for(1, std::chrono::milliseconds(2)))
            check::that(l.active() == 0, "the lane is idle when the wait says so");
        runner.join();
    }
}

STRAND_MODEL(lanes_wait_for_own_posts, .about = "a thread waits for a lane whose function posts to the lane",
             .preemptions = 1, .spurious = 0) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, [&, note = all.note(0)] {
            note();
            (void)l.post(1, all.note(1));
        });
        sys::thread runner([&] { all.run_until(context, 2); });
        l.wait_idle(1);
        check::that(all.ran.size() == 2, "the lane is idle after both");
        runner.join();
    }
}

STRAND_MODEL(lanes_pause_against_drain,
             .about = "a function is posted after a pause, and a lane runs already", .preemptions = 2) {
    one_place context;
    sys::cell<int> ran{0};
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(1, [&ran] { ran.write(ran.read() + 1); });
        sys::thread runner([&] { (void)context.run_one(); });
        context.gate.store(1, sys::relaxed);
        (void)l.post(1, [&] {
            check::that(context.gate.load(sys::relaxed) == 0, "it begins after the pause only");
            ran.write(ran.read() + 1);
        });
        runner.join();
        context.gate.store(0, sys::relaxed);
        while (ran.read() != 2) (void)context.run_one();
    }
}

} // namespace lanes_models

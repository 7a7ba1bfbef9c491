// Turns: requests that keep their lanes until another thread ends them. Their withdrawal against grants, the
// beginning, close(), and a context that refuses the drains. Their end against posts, waits and the end of
// the lanes. A thread of the model does what a coroutine does, except in the last models.
#include <check/models/coroutine_model.hpp>
#include <check/models/lanes_model.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace lanes_turns_models {

namespace {

using namespace ekiden;
using namespace ekiden_model;

/// A turn without a coroutine.
struct model_turn {
    lane_turn guard;
    turn_record& record;

    template <class Lanes>
    model_turn(const Lanes& in, typename Lanes::key_list&& keys)
        : guard(detail::turn_access::make(in, std::move(keys), "a model")),
          record(detail::turn_access::record(guard)) {
        record.enqueue(false);
    }
    /// Waits until the turn has begun. The caller runs the context meanwhile.
    void begin(one_place& context) const {
        while (!record.has_lanes())
            if (!context.run_one()) sys::yield();
    }
    void end() { guard.end(); }
};

/// Checks that the lanes are as they were before the model. `posted` requests were accepted.
void expect_rest(const test_lanes& l, one_place& context, std::uint64_t posted) {
    run_rest(context);
    check::that(l.active() == 0, "the entries have gone");
    const auto counts = l.metrics();
    check::that(counts.posted == posted && counts.run + counts.dropped == posted, "each is counted once");
}

} // namespace

HINT_MODEL(lanes_turn_against_leave,
           .about = "[LN4] [LN5] a turn is left at any time between its post and its beginning",
           .preemptions = 2) {
    two_places context;
    account all;
    const bool has_two = check::choose(2) == 0;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, all.note(0));
        model_turn turn(l, has_two ? l.keys().write(low, high) : l.keys().write(low));
        sys::thread runner([&] {
            (void)context.run_one();
            (void)context.run_one();
        });
        turn.end();
        (void)l.post({low, high}, all.note(1));
        all.run_until(context, 2);
        runner.join();
        expect_rest(l, context, 3);
    }
    check::that(all.in_order(0, 1), "in order");
}

STRAND_MODEL(lanes_turn_begins_or_leaves,
             .about = "[LN4] [LN5] a turn is left while the lanes grant its only claim", .preemptions = 3) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        model_turn turn(l, l.keys().write(low));
        sys::thread runner([&] { (void)context.run_one(); });
        turn.end();
        runner.join();
        (void)l.post(low, all.note(0));
        all.run_until(context, 1);
        expect_rest(l, context, 2);
    }
}

STRAND_MODEL(lanes_turn_left_between_grants,
             .about = "[LN3] a turn is left while two threads grant its claims", .preemptions = 2) {
    two_places context;
    account first;
    account second;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, first.note(0));
        (void)l.post(high, second.note(0));
        model_turn turn(l, l.keys().write(low, high));
        sys::thread runner([&] { (void)context.run_one(); });
        sys::thread other([&] { (void)context.run_one(); });
        turn.end();
        runner.join();
        other.join();
        run_rest(context);
        (void)l.post(low, first.note(1));
        (void)l.post(high, second.note(1));
        first.run_until(context, 2);
        second.run_until(context, 2);
        expect_rest(l, context, 5);
    }
    check::that(first.in_order(0, 1) && second.in_order(0, 1), "in order");
}

STRAND_MODEL(lanes_turn_left_with_a_lane,
             .about = "a turn has one of its lanes and is left: the request behind runs at once",
             .preemptions = 2) {
    two_places context;
    account all;
    const bool turn_reads = check::choose(2) == 1;
    const bool next_reads = check::choose(2) == 1;
    const bool is_low_held = check::choose(2) == 1;
    const int held = is_low_held ? low : high;
    const int free = is_low_held ? high : low;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        model_turn holder(l, l.keys().write(held));
        holder.begin(context);
        model_turn turn(l, turn_reads ? l.keys().read(free).write(held) : l.keys().write(free, held));
        sys::thread runner([&] { (void)context.run_one(); });
        (void)l.post(next_reads ? l.keys().read(free) : l.keys().write(free), all.note(0));
        turn.end();
        all.run_until(context, 1); // the holder has not ended yet
        runner.join();
        holder.end();
        expect_rest(l, context, 3);
    }
}

STRAND_MODEL(lanes_turn_left_behind_a_function,
             .about = "a turn is left while its claim is in the batch of a running function",
             .preemptions = 2) {
    one_place context;
    account all;
    const bool is_closed = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        (void)l.post(low, all.note(0));
        model_turn turn(l, l.keys().write(low));
        (void)l.post(low, all.note(1));
        sys::thread runner([&] { all.run_until(context, 2); });
        if (is_closed) (void)l.close(low);
        turn.end();
        all.run_until(context, 2);
        runner.join();
        expect_rest(l, context, 3);
    }
    check::that(is_closed || all.in_order(0, 1), "in order");
}

STRAND_MODEL(lanes_turn_closed_or_left,
             .about = "a key of a turn that waits is closed while the turn is left", .preemptions = 2) {
    two_places context;
    account all;
    const int closed = check::choose(2) == 0 ? low : high;
    const bool is_bounded = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context},
                           {.lane_capacity = is_bounded ? 2U : 0U, .shards = 2, .delay_sampling = 0});
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        model_turn turn(l, l.keys().write(low, high));
        sys::thread closer([&] { (void)l.close(closed); });
        turn.end();
        closer.join();
        holder.end();
        run_rest(context);
        check::that(l.post({low, high}, all.note(0)), "the lanes are as they were");
        all.run_until(context, 1);
        expect_rest(l, context, 3);
    }
    check::that(all.ran.size() == 1, "it ran");
}

STRAND_MODEL(lanes_turn_refused_or_left,
             .about = "the context closes while a turn that waits is left, then the holder ends",
             .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        model_turn turn(l, l.keys().write(low, high));
        (void)l.post({low, high}, all.note(0));
        sys::thread stopper([&] {
            context.is_closed.store(true, sys::relaxed);
            while (task* const left = context.get()) left->abandon();
            holder.end();
        });
        turn.end();
        stopper.join();
        while (task* const left = context.get()) left->abandon();
        check::that(all.gone.load(sys::acquire) == 1, "no request is forgotten");
        check::that(l.active() == 0, "the entries have gone");
        context.is_closed.store(false, sys::relaxed);
        check::that(l.post({low, high}, all.note(1)), "the lanes are as they were");
        all.run_until(context, 2);
    }
    check::that(all.ran.back() == 1, "the last one ran");
}

STRAND_MODEL(lanes_turns_cross,
             .about = "two threads leave two turns with the same keys, of which one lane is held",
             .preemptions = 2) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        model_turn first(l, l.keys().write(low, high));
        model_turn second(l, l.keys().write(high, low));
        (void)l.post(low, all.note(0));
        run_rest(context);
        sys::thread other([&] { second.end(); });
        first.end();
        other.join();
        all.run_until(context, 1); // the holder has not ended yet
        (void)l.post({low, high}, all.note(1));
        holder.end();
        all.run_until(context, 2);
        expect_rest(l, context, 5);
    }
}

STRAND_MODEL(lanes_turn_end_against_post,
             .about = "[LN1] a turn ends while the next request is posted and the lanes are destroyed",
             .preemptions = 2) {
    two_places context;
    account all;
    auto l = std::make_unique<test_lanes>(one_place::executor{context}, two_shards);
    model_turn turn(*l, l->keys().write(low, high));
    turn.begin(context);
    all.exclusive.write(1);
    sys::thread other([&] {
        all.exclusive.write(2);
        turn.end();
    });
    (void)l->post({low, high}, all.note(0));
    l.reset();
    all.run_until(context, 1);
    other.join();
    check::that(all.ran.size() == 1 && all.exclusive.read() == 3, "it ran after the turn");
}

STRAND_MODEL(lanes_turn_outlives_lanes, .about = "[LN1] a turn that waits is left after its lanes have gone",
             .preemptions = 2) {
    two_places context;
    auto l = std::make_unique<test_lanes>(one_place::executor{context}, two_shards);
    model_turn holder(*l, l->keys().write(high));
    holder.begin(context);
    model_turn turn(*l, l->keys().write(low, high));
    l.reset();
    sys::thread other([&] { holder.end(); });
    turn.end();
    (void)context.run_one();
    other.join();
    run_rest(context);
}

STRAND_MODEL(lanes_wait_for_turn, .about = "a thread waits for a lane while a turn ends there or is left",
             .preemptions = 2, .spurious = 0) {
    two_places context;
    account all;
    const bool is_left = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        std::optional<model_turn> turn;
        if (is_left) turn.emplace(l, l.keys().write(low, high));
        run_rest(context);
        sys::thread other([&] {
            if (is_left)
                turn->end();
            else
                holder.end();
        });
        l.wait_idle(is_left ? low : high);
        if (is_left) check::that(l.metrics().dropped == 1, "the turn has gone");
        other.join();
        holder.end();
        expect_rest(l, context, is_left ? 2 : 1);
    }
}

STRAND_MODEL(lanes_turn_left_by_readers,
             .about = "a turn between readers and writers is left: its neighbors are as without it",
             .preemptions = 2) {
    one_place context;
    account all;
    const bool is_writer = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        model_turn reader(l, l.keys().read(low));
        reader.begin(context);
        std::optional<model_turn> writer;
        if (!is_writer) writer.emplace(l, l.keys().write(low));
        model_turn turn(l, is_writer ? l.keys().write(low) : l.keys().read(low));
        (void)l.post(is_writer ? l.keys().read(low) : l.keys().write(low), all.note(0));
        sys::thread runner([&] { (void)context.run_one(); });
        turn.end();
        if (!is_writer) {
            check::that(all.ran.empty(), "the writer in front of it waits");
            reader.end();
            writer->begin(context);
            check::that(all.ran.empty(), "the writer behind it waits");
            writer->end();
        }
        all.run_until(context, 1);
        runner.join();
        if (is_writer) reader.end();
        expect_rest(l, context, is_writer ? 3 : 4);
    }
}

STRAND_MODEL(lanes_turn_gives_room, .about = "a turn that waits is left: a post that waits for room returns",
             .preemptions = 1, .spurious = 0) {
    two_places context;
    account all;
    const bool is_shared = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context}, {.lane_capacity = is_shared ? 0U : 1U,
                                                          .capacity = is_shared ? 1U : 0U,
                                                          .policy = when_full::block,
                                                          .shards = 2,
                                                          .delay_sampling = 0});
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        model_turn turn(l, l.keys().write(low, high));
        run_rest(context);
        sys::thread poster([&] { check::that(l.post(high, all.note(0)), "it comes in"); });
        turn.end();
        poster.join(); // the holder has not ended yet
        check::that(l.depth(high) == 1, "one function waits");
        holder.end();
        check::that(l.depth(high) == 1, "it still waits");
        all.run_until(context, 1);
        check::that(l.post(high, all.note(1)), "there is room again");
        all.run_until(context, 2);
        expect_rest(l, context, 4);
    }
}

STRAND_MODEL(lanes_turn_behind_a_post,
             .about = "a turn behind a post that waits for room is left: the post still waits",
             .preemptions = 1, .spurious = 0) {
    two_places context;
    account all;
    const bool is_shared = check::choose(2) == 1;
    {
        const test_lanes l(one_place::executor{context}, {.lane_capacity = is_shared ? 0U : 1U,
                                                          .capacity = is_shared ? 1U : 0U,
                                                          .policy = when_full::block,
                                                          .shards = 2,
                                                          .delay_sampling = 0});
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        check::that(l.post(high, all.note(0)), "there is room");
        sys::atomic<bool> has_returned{false};
        sys::thread poster([&] {
            check::that(l.post(high, all.note(1)), "it comes in");
            has_returned.store(true, sys::relaxed);
        });
        while (l.depth(high) != 2) sys::yield();
        model_turn turn(l, l.keys().write(high));
        turn.end();
        check::that(!has_returned.load(sys::relaxed), "the older function has not begun");
        holder.end();
        all.run_until(context, 2);
        poster.join();
        expect_rest(l, context, 4);
    }
    check::that(all.in_order(0, 1), "in order");
}

STRAND_MODEL(lanes_post_ends_with_its_wait,
             .about = "all lanes are full: a post returns when its function begins before older ones",
             .preemptions = 1, .spurious = 0) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context},
                           {.capacity = 1, .policy = when_full::block, .shards = 2, .delay_sampling = 0});
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        check::that(l.post(high, all.note(0)), "there is room");
        sys::thread runner([&] { all.run_until(context, 1); });
        check::that(l.post(low, all.note(1)), "it comes in");
        runner.join();
        check::that(all.ran.size() == 1, "the older function has not begun");
        holder.end();
        all.run_until(context, 2);
        expect_rest(l, context, 3);
    }
}

STRAND_MODEL(lanes_turn_drops_no_other,
             .about = "a claim that was withdrawn does not count as the oldest task of a full lane") {
    two_places context;
    account all;
    {
        const test_lanes l(
            one_place::executor{context},
            {.lane_capacity = 1, .policy = when_full::drop_oldest, .shards = 2, .delay_sampling = 0});
        model_turn holder(l, l.keys().write(high));
        holder.begin(context);
        model_turn turn(l, l.keys().write(high));
        turn.end();
        check::that(l.post(high, all.note(0)) && l.depth(high) == 1, "there is room for it");
        check::that(l.post(high, all.note(1)) && l.depth(high) == 1, "it gets the room of the oldest");
        holder.end();
        all.run_until(context, 2);
        expect_rest(l, context, 4);
    }
    check::that(all.ran.size() == 1 && all.ran[0] == 1, "the newest ran");
}

STRAND_MODEL(lanes_turn_waited_for,
             .about = "a thread waits until its turn begins, or until the lane is closed", .preemptions = 2,
             .spurious = 0) {
    two_places context;
    account all;
    const bool closes = check::choose(2) == 1;
    sys::atomic<bool> is_decided{false};
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        (void)l.post(low, all.note(0));
        model_turn turn(l, l.keys().write(low, high));
        sys::thread runner([&] {
            while (!is_decided.load(sys::relaxed))
                if (!context.run_one()) sys::yield();
        });
        if (closes) (void)l.close(low);
        turn.record.decided().wait();
        check::that(turn.record.is_dropped() != turn.record.has_lanes(), "it begins or is dropped");
        check::that(closes || turn.record.has_lanes(), "it begins");
        if (turn.record.has_lanes()) all.exclusive.write(all.exclusive.read() + 1);
        turn.end();
        is_decided.store(true, sys::relaxed);
        runner.join();
        expect_rest(l, context, 2);
    }
}

STRAND_MODEL(lanes_turn_marked, .about = "[LN4] [LN6] two coroutines share a mark while its turn ends",
             .preemptions = 3) {
    one_place context;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        model_turn turn(l, l.keys().write(low));
        turn_mark mark = turn_mark().with(turn.record);
        check::that(!mark.has_turn(nullptr), "it has not begun");
        turn.begin(context);
        check::that(mark.has_turn(nullptr), "it has begun");
        turn_mark of_child(mark);
        sys::thread other([&] {
            (void)of_child.has_turn(nullptr);
            of_child = turn_mark();
        });
        turn.end();
        mark = turn_mark();
        other.join();
        expect_rest(l, context, 1);
    }
}

namespace {

using coroutine_model::model_context;
using awaited_lanes = lanes<int, model_context::executor_type>;

} // namespace

EKIDEN_MODEL(lanes_turn_awaited, .old_values = 1,
             .about = "a coroutine that waits for a turn is stopped while the turn in front of it ends",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    model_context context;
    stop_state stop;
    sys::cell<int> data{0};
    {
        const awaited_lanes l(context.get_executor(), one_shard);
        model_turn holder(l, l.keys().write(high));
        context.run();
        const auto body = [&]() -> coroutine<> {
            try {
                const auto turn = co_await async_turn(l, l.keys().write(low, high));
                data.write(data.read() + 1);
            } catch (const operation_canceled&) {
            }
        };
        coroutine_model::begin(context, body, &stop);
        context.run();
        sys::thread stopper([&] {
            (void)stop.request_stop();
            context.run();
        });
        data.write(1);
        holder.end();
        context.run();
        stopper.join();
        context.run();
        check::that(l.active() == 0, "the entries have gone");
        const auto counts = l.metrics();
        check::that(counts.posted == 2 && counts.run + counts.dropped == 2, "each is counted once");
    }
    check::that(data.read() >= 1, "the holder was first");
}

EKIDEN_MODEL(lanes_turn_ends_with_coroutine, .load_buffering = false, .old_values = 1,
             .about = "a coroutine gets its turn on another thread than the next request", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    model_context context;
    sys::cell<int> data{0};
    {
        const awaited_lanes l(context.get_executor(), one_shard);
        const auto body = [&]() -> coroutine<> {
            const auto turn = co_await async_turn(l, low);
            data.write(data.read() + 1);
        };
        coroutine_model::begin(context, body);
        sys::thread other([&] { context.run(); });
        (void)l.post(low, [&] { data.write(data.read() + 1); });
        context.run();
        other.join();
        context.run();
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(data.read() == 2, "both ran, one at a time");
}

EKIDEN_MODEL(lanes_turn_spawned, .load_buffering = false, .old_values = 1,
             .about = "a coroutine is spawned in a turn while the turn in front of it ends", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    model_context context;
    sys::cell<int> data{0};
    {
        const awaited_lanes l(context.get_executor(), one_shard);
        model_turn holder(l, l.keys().write(high));
        context.run();
        sys::thread other([&] {
            data.write(1);
            holder.end();
            context.run();
        });
        spawn_in_turn(l, {low, high}, [&]() -> coroutine<> {
            data.write(data.read() + 1);
            co_return;
        });
        (void)l.post(low, [&] {
            check::that(data.read() == 2, "the coroutine was first");
            data.write(3);
        });
        context.run();
        other.join();
        context.run();
        check::that(l.active() == 0, "the entries have gone");
    }
    check::that(data.read() == 3, "all ran");
}

} // namespace lanes_turns_models

// lanes: handles. The last handle of a lane is destroyed while other threads post, run the lane, or make a
// handle.
#include <check/models/lanes_model.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace lanes_handles_models {

namespace {

using namespace ekiden;
using namespace ekiden_model;
using handle = test_lanes::lane_type;

/// An operation of the scheduler of a lane. close() leaves it in the lane.
struct operation final
    : std::remove_pointer_t<decltype(detail::sink_access::base_of_operations<handle::executor_type>())> {
    using base =
        std::remove_pointer_t<decltype(detail::sink_access::base_of_operations<handle::executor_type>())>;

    operation(account& to, int number, const handle::executor_type& on)
        : base(&answer, on), call(to.note(number)) {}
    static const char* answer(task* self, task_request request) {
        check::that(request == task_request::run, "the operation is not abandoned");
        auto note = std::move(*static_cast<operation*>(self)->call);
        static_cast<operation*>(self)->call.reset();
        note();
        return nullptr;
    }

    std::optional<decltype(std::declval<account&>().note(0))> call;
};

} // namespace

HINT_MODEL(lanes_close_leaves_operations,
           .about = "a lane is closed while it runs, and operations are started before and after",
           .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        const handle one = l.lane(1);
        const handle::executor_type on = one.get_executor();
        operation early(all, 1, on);
        operation late(all, 3, on);
        sys::thread runner([&] { all.run_until(context, 4); });
        (void)l.post(one, all.note(0));
        (void)detail::sink_access::accept_operation(on, &early);
        (void)l.post(one, all.note(2));
        (void)l.close(one);
        (void)detail::sink_access::accept_operation(on, &late);
        runner.join();
        run_rest(context);
        check::that(l.active() == 0, "the lane is idle");
        check::that(all.ran.size() >= 2 && all.in_order(1, 3), "the operations ran once, in order");
    }
}

STRAND_MODEL(lanes_handle_against_drain,
             .about = "the last handle is destroyed while a drain runs the lane and would erase it",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread poster([&] {
            const handle one = l.lane(1);
            (void)l.post(one, all.note(0));
            (void)l.post(1, all.note(1));
        });
        all.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0 && l.lane(1).key() == 1, "the lanes are as they were");
    }
    check::that(all.ran.size() == 2 && all.in_order(0, 1), "each ran once, in order");
}

STRAND_MODEL(lanes_handles_of_two_threads,
             .about = "[LN7] a thread posts and destroys its handle, another thread destroys the last one",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        std::optional<handle> one = l.lane(1);
        sys::thread poster([&, own = *one]() mutable {
            const handle mine = std::move(own);
            (void)l.post(mine, all.note(0));
        });
        one.reset();
        (void)l.post(1, all.note(1));
        all.run_until(context, 2);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the lane is idle");
    }
    check::that(all.ran.size() == 2, "each ran once");
}

HINT_MODEL(lanes_handle_made_again,
           .about = "a thread makes a handle while another thread destroys the last one", .preemptions = 2) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        sys::thread other([&] {
            const handle one = l.lane(1);
            const handle two = one;
            (void)l.post(two, all.note(0));
        });
        {
            const handle one = l.lane(1);
            (void)l.post(one, all.note(1));
        }
        all.run_until(context, 2);
        other.join();
        run_rest(context);
        check::that(l.active() == 0, "the lane is idle");
    }
    check::that(all.ran.size() == 2, "each ran once");
}

STRAND_MODEL(lanes_handle_of_idle_lane,
             .about = "a lane falls idle beneath its handle: it is waited for, closed, and posted to again",
             .preemptions = 1, .spurious = 0) {
    one_place context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, one_shard);
        const handle one = l.lane(1);
        (void)l.post(one, all.note(0));
        sys::thread runner([&] { all.run_until(context, 2); });
        l.wait_idle(one);
        check::that(all.ran.size() == 1 && l.active() == 0, "the lane has run, and is idle");
        check::that(l.close(one) == 0, "nothing waits");
        (void)l.post(1, all.note(1));
        l.wait_idle(one);
        check::that(all.ran.size() == 2, "the lane was open");
        runner.join();
    }
}

HINT_MODEL(lanes_request_by_handles,
           .about = "a request by handles, which are destroyed while the request waits", .preemptions = 1) {
    two_places context;
    account all;
    {
        const test_lanes l(one_place::executor{context}, two_shards);
        sys::thread poster([&] {
            (void)l.post(high, all.note(0));
            (void)l.post({l.lane(low), l.lane(high)}, all.note(1));
        });
        (void)l.post(low, all.note(2));
        all.run_until(context, 3);
        poster.join();
        run_rest(context);
        check::that(l.active() == 0, "the lanes are idle");
    }
    check::that(all.ran.size() == 3 && all.in_order(0, 1), "each ran once, in order");
}

STRAND_MODEL(lanes_last_handle_in_function,
             .about = "a function destroys the last handle of its lane, and of the lanes", .preemptions = 2) {
    one_place context;
    account all;
    {
        std::optional<test_lanes> l(std::in_place, one_place::executor{context}, one_shard);
        sys::thread runner([&] { all.run_until(context, 1); });
        {
            handle one = l->lane(1);
            const handle to = one;
            (void)l->post(to, [own = std::move(one), note = all.note(0)]() mutable {
                const handle last = std::move(own);
                note();
            });
        }
        l.reset();
        runner.join();
        run_rest(context);
    }
    check::that(all.ran.size() == 1, "it ran once");
}

STRAND_MODEL(lanes_last_executor_in_function,
             .about = "a function destroys the last executor of a lane while a thread still posts by it",
             .preemptions = 3) {
    one_place context;
    account all;
    {
        std::optional<test_lanes> l(std::in_place, one_place::executor{context}, one_shard);
        auto last = std::make_unique<test_lanes::executor_type>(l->get_executor(1));
        l.reset();
        sys::thread runner([&] { all.run_until(context, 2); });
        auto& executor = *last;
        executor.post(all.note(1));
        executor.post([own = std::move(last), note = all.note(2)]() mutable {
            own.reset();
            note();
        });
        runner.join();
        run_rest(context);
    }
    check::that(all.ran.size() == 2, "each ran once");
}

namespace {

/// A thread posts a function that destroys the lanes. Another thread runs the lanes, and may run this
/// function before the post has returned.
void function_owns_the_lanes(const lanes_options& options, bool has_several) {
    one_place context;
    account all;
    {
        auto l = std::make_unique<test_lanes>(one_place::executor{context}, options);
        const test_lanes& here = *l;
        const int first = has_several ? 2 : 1;
        if (has_several) { // from here on, posts lock
            (void)here.post({1, 2}, all.note(0));
            run_rest(context);
            (void)here.post(2, all.note(1));
        } else {
            (void)here.post(1, all.note(0));
        }
        sys::thread runner([&] { all.run_until(context, first + 1); });
        (void)here.post(3, [own = std::move(l), note = all.note(first)]() mutable {
            own.reset();
            note();
        });
        runner.join();
        run_rest(context);
    }
    check::that(all.ran.size() == (has_several ? 3U : 2U), "each ran once");
}

} // namespace

HINT_MODEL(lanes_function_owns_lanes, .about = "a function destroys the lanes before its post returns",
           .preemptions = 2) {
    function_owns_the_lanes(one_shard, false);
}

HINT_MODEL(
    lanes_function_owns_lanes_with_requests,
    .about = "a function destroys the lanes before its post returns, after a request with several keys",
    .preemptions = 2) {
    function_owns_the_lanes(one_shard, true);
}

HINT_MODEL(lanes_function_owns_full_lanes,
           .about = "a function destroys lanes with a capacity before its post returns", .preemptions = 2) {
    function_owns_the_lanes({.lane_capacity = 10, .shards = 1, .delay_sampling = 0}, false);
}

} // namespace lanes_handles_models

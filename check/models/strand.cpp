// strand: posts against the drain's rest, dispatch against post, the last handle against the drain, a context
// that abandons the drain, an exception in a batch.
#include <check/models/strand_model.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace strand_models {

namespace {

using namespace ekiden;
using namespace ekiden_model;
using test_strand = strand<one_place::executor>;

} // namespace

STRAND_MODEL(strand_post_against_rest, .about = "a post comes while the drain goes to rest",
             .preemptions = 2) {
    one_place context;
    account all;
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] {
            s.post(all.note(0));
            s.post(all.note(1));
        });
        s.post(all.note(2));
        all.run_until(context, 3);
        poster.join();
    }
    check::that(all.ran.size() == 3 && all.in_order(0, 1), "each ran once, in order");
}

STRAND_MODEL(strand_two_posters, .about = "two threads post while a third one drains", .preemptions = 2) {
    one_place context;
    account all;
    {
        test_strand s(one_place::executor{context});
        sys::thread first([&, s] { s.post(all.note(0)); });
        sys::thread second([&, s] { s.post(all.note(1)); });
        all.run_until(context, 2);
        first.join();
        second.join();
    }
    check::that(all.ran.size() == 2 && all.exclusive.read() == 2, "each ran once");
}

STRAND_MODEL(strand_dispatch_against_post, .about = "a dispatch that is let in, and a post",
             .preemptions = 2) {
    one_place context;
    context.lets_in = true;
    account all;
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] {
            s.post(all.note(0));
            s.post(all.note(1));
        });
        s.dispatch(all.note(2));
        s.dispatch(all.note(3));
        all.run_until(context, 4);
        poster.join();
    }
    check::that(all.ran.size() == 4 && all.in_order(0, 1) && all.in_order(2, 3),
                "each ran once, those of a thread in order");
}

STRAND_MODEL(strand_in_place_against_post,
             .about = "a dispatch inside of the context, without a task, and posts", .preemptions = 2) {
    one_place context;
    context.lets_in = context.is_inside = true;
    account all;
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] {
            s.post(all.note(0));
            s.post(all.note(1));
        });
        s.dispatch(all.note(2));
        s.dispatch(all.note(3));
        all.run_until(context, 4);
        poster.join();
    }
    check::that(all.ran.size() == 4 && all.in_order(0, 1) && all.in_order(2, 3),
                "each ran once, those of a thread in order");
}

STRAND_MODEL(strand_in_place_and_gone,
             .about = "the last handle goes in a function that is called in place and throws, beside a post",
             .preemptions = 3) {
    one_place context;
    context.lets_in = context.is_inside = true;
    account all;
    auto s = std::make_unique<test_strand>(one_place::executor{context});
    sys::thread poster([&, posts_to = *s]() mutable {
        auto own = std::make_unique<test_strand>(std::move(posts_to));
        own->post(all.note(0));
        own.reset();
    });
    int caught = 0;
    try {
        s->dispatch([&, place = account::ticket(all)] {
            s.reset();
            throw 1;
        });
    } catch (int) {
        ++caught;
    }
    while (all.gone.load(sys::acquire) < 2) {
        try {
            if (!context.run_one()) sys::yield();
        } catch (int) { // it came behind the post
            ++caught;
        }
    }
    poster.join();
    check::that(caught == 1 && all.ran.size() == 1, "one exception, and what was posted ran");
}

STRAND_MODEL(strand_last_handle_against_drain,
             .about = "the last handle goes while the drain runs: one of the two ends the strand",
             .preemptions = 5) {
    one_place context;
    account all;
    auto s = std::make_optional<test_strand>(one_place::executor{context});
    s->post(all.note(0));
    sys::thread runner([&] { all.run_until(context, 1); });
    s.reset();
    runner.join();
    check::that(all.ran.size() == 1, "what was posted has run");
}

STRAND_MODEL(strand_handle_goes_in_function,
             .about = "the last handle goes inside a function while its post returns", .preemptions = 5) {
    one_place context;
    account all;
    auto s = std::make_optional<test_strand>(one_place::executor{context});
    sys::thread runner([&] { all.run_until(context, 2); });
    s->post([&s, &all] {
        s->post(all.note(1));
        all.note(0)();
        s.reset();
    });
    runner.join();
    check::that(all.ran.size() == 2 && all.in_order(0, 1), "what was posted has run");
}

STRAND_MODEL(strand_abandoned_against_post, .about = "the context closes while two threads post",
             .preemptions = 2) {
    one_place context;
    account all;
    int accepted = 0;
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] {
            accepted += s.post(all.note(0));
            accepted += s.post(all.note(1));
        });
        sys::thread closer([&] {
            context.is_closed.store(true, sys::relaxed);
            if (task* const left = context.place.exchange(nullptr, sys::acq_rel)) left->abandon();
        });
        accepted += s.post(all.note(2));
        closer.join();
        poster.join();
        if (task* const left = context.place.exchange(nullptr, sys::acquire)) left->abandon();
        check::that(all.gone.load(sys::acquire) == 3, "each was abandoned, once");
        context.is_closed.store(false, sys::relaxed);
        check::that(s.post(all.note(3)), "the strand is as it was");
        all.run_until(context, 4);
    }
    check::that(all.ran.size() == 1, "the last one ran");
}

STRAND_MODEL(
    strand_thrown_against_post,
    .about = "the context throws once or twice while two threads post: accepted functions run or are told",
    .preemptions = 2) {
    one_place context;
    context.throws.store(1 + static_cast<int>(check::choose(2)), sys::relaxed);
    account all;
    int accepted = 0;
    const auto post = [&](const test_strand& s, int number) {
        try {
            accepted += s.post(all.note(number));
        } catch (int) { // it was not accepted
        }
    };
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] {
            post(s, 0);
            post(s, 1);
        });
        post(s, 2);
        all.run_until(context, 3);
        poster.join();
    }
    check::that(static_cast<int>(all.ran.size()) + context.reports == accepted, "each ran or was told, once");
}

STRAND_MODEL(strand_exception, .about = "a function throws while others are posted", .preemptions = 3) {
    one_place context;
    account all;
    int caught = 0;
    {
        test_strand s(one_place::executor{context});
        sys::thread poster([&, s] { s.post(all.note(0)); });
        s.post([place = account::ticket(all)] { throw 1; });
        s.post(all.note(1));
        while (all.gone.load(sys::acquire) < 3) {
            try {
                if (!context.run_one()) sys::yield();
            } catch (int) {
                ++caught;
            }
        }
        poster.join();
    }
    check::that(caught == 1 && all.ran.size() == 2, "one exception, and the rest has run");
}

STRAND_MODEL(strand_two_handles, .about = "two handles go at once: the last one ends the strand",
             .preemptions = 4) {
    one_place context;
    auto s = std::make_optional<test_strand>(one_place::executor{context});
    sys::thread other([own = std::make_optional<test_strand>(*s)]() mutable { own.reset(); });
    s.reset();
    other.join();
}

STRAND_MODEL(strand_pause_against_drain,
             .about = "a function is posted after a pause, and a strand runs already", .preemptions = 2) {
    one_place context;
    sys::cell<int> ran{0};
    {
        test_strand s(one_place::executor{context});
        s.post([&ran] { ran.write(ran.read() + 1); });
        sys::thread runner([&] { (void)context.run_one(); });
        context.gate.store(1, sys::relaxed);
        s.post([&] {
            check::that(context.gate.load(sys::relaxed) == 0, "it begins after the pause only");
            ran.write(ran.read() + 1);
        });
        runner.join();
        context.gate.store(0, sys::relaxed);
        while (ran.read() != 2) (void)context.run_one();
    }
}

} // namespace strand_models

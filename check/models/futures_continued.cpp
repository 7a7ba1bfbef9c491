// future::then(), when_all() and when_any(): a result against what waits for it, and what waits against its
// being given up.
#include <check/engine/model.hpp>

#include <ekiden/execution/then.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/future/when_all.hpp>
#include <ekiden/future/when_any.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

namespace futures_continued_models {

using namespace ekiden;

namespace {

class kept_context : public execution_context {
public:
    void shut_down() noexcept { shut_down_services(); }
};

/// Keeps the one task that it is given. Abandons the tasks that it is given after it is closed.
struct keeper {
    struct place {
        kept_context itself;
        bool is_closed = false; // set before other threads use the place
        sys::atomic<task*> given{nullptr};
        sys::atomic<int> work{0};
    };
    place* where;

    execution_context& context() const noexcept { return where->itself; }
    void on_work_started() const noexcept { where->work.fetch_add(1, sys::relaxed); }
    void on_work_finished() const noexcept { where->work.fetch_sub(1, sys::relaxed); }
    bool accept(task* given, task_order) const {
        if (where->is_closed) return given->abandon(), false;
        check::that(where->given.exchange(given, sys::acq_rel) == nullptr, "one task, once");
        return true;
    }
    task* continue_with(task* given) const { return accept(given, task_order::usual), nullptr; }
    bool running_in_this_thread() const noexcept { return false; }
    void report_unhandled(const char*) const noexcept {}
    template <class F, class A>
    void post(F&& f, const A&) const {
        accept(make_task(std::forward<F>(f)), task_order::usual);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    friend bool operator==(const keeper&, const keeper&) = default;

    void run() const {
        if (task* const taken = where->given.exchange(nullptr, sys::acq_rel)) taken->run();
    }
};

} // namespace

EKIDEN_MODEL(then_against_result,
             .about = "a continuation is queued once, whichever of result and then() is first",
             .preemptions = 3) {
    keeper::place place;
    const keeper where{&place};
    sys::cell<int> written{0};
    promise<int> source;
    future<int> awaited = source.get_future();
    sys::thread producer([&] {
        written.write(1);
        source.set_value(2);
    });
    future<int> continued = awaited.then(where, [&](int i) { return i + written.read(); });
    producer.join();
    where.run();
    check::that(continued.get() == 3, "the result, and what was done before it");
    check::that(place.work.load(sys::relaxed) == 0, "no work is outstanding");
}

EKIDEN_MODEL(then_against_the_end_of_its_context,
             .about = "a continuation is queued or canceled, and what queues it has let go of the context",
             .preemptions = 3) {
    auto place = std::make_unique<keeper::place>();
    const keeper where{place.get()};
    promise<int> source;
    future<int> continued = source.get_future().then(where, [](int i) { return i; });
    sys::thread producer([&] { source.set_value(2); });
    place->itself.shut_down();
    const bool was_given = place->given.load(sys::relaxed) != nullptr;
    check::that(was_given != continued.is_ready(), "queued, or told");
    where.run();
    check::that(place->work.load(sys::relaxed) == 0, "no work is outstanding");
    place.reset();
    check::that(continued.is_ready(), "ended");
    bool has_result = false;
    try {
        has_result = continued.get() == 2;
    } catch (const std::system_error&) {
    }
    check::that(has_result == was_given, "operation_canceled if it was not queued");
    producer.join();
}

EKIDEN_MODEL(then_refused_at_the_end_of_its_context,
             .about = "the end of a context waits for a continuation that another thread ends",
             .preemptions = 3) {
    keeper::place place{.is_closed = true};
    const keeper where{&place};
    promise<int> source;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> callable = owned;
    future<int> continued = source.get_future().then(where, [owned = std::move(owned)](int i) { return i; });
    sys::thread producer([&] { source.set_value(2); });
    place.itself.shut_down();
    check::that(callable.expired(), "the callable is destroyed");
    check::that(continued.is_ready(), "refused, or canceled");
    check::that(place.work.load(sys::relaxed) == 0, "no work is outstanding");
    producer.join();
}

EKIDEN_MODEL(then_refused_owns_its_context, .about = "callables of refused continuations may own the context",
             .preemptions = 2) {
    std::shared_ptr<keeper::place> place(new keeper::place{.is_closed = true}, [](keeper::place* ended) {
        ended->itself.shut_down();
        delete ended;
    });
    const keeper where{place.get()};
    promise<int> one;
    promise<int> other;
    future<int> first = one.get_future().then(where, [place](int i) { return i; });
    future<int> second = other.get_future().then(where, [place](int i) { return i; });
    const std::weak_ptr<keeper::place> owned = std::exchange(place, nullptr);
    sys::thread producer([&] { one.set_value(1); });
    other.set_value(2);
    producer.join();
    check::that(owned.expired(), "the context is destroyed");
    check::that(first.is_ready() && second.is_ready(), "refused");
}

EKIDEN_MODEL(then_begun_at_the_end_of_its_context,
             .about = "then() against the end of the context: canceled at once, or by the end",
             .preemptions = 2) {
    keeper::place place;
    const keeper where{&place};
    (void)use_service<detail::continuations>(place.itself);
    promise<int> source;
    future<int> awaited = source.get_future();
    sys::thread ender([&] { place.itself.shut_down(); });
    future<int> continued = awaited.then(where, [](int i) { return i; });
    ender.join();
    check::that(continued.is_ready(), "canceled");
    check::that(place.work.load(sys::relaxed) == 0, "no work is outstanding");
    source.set_value(1);
}

EKIDEN_MODEL(then_against_cancel,
             .about = "a continuation that is canceled while the result comes runs or is dropped",
             .preemptions = 3) {
    keeper::place place;
    const keeper where{&place};
    sys::atomic<int> runs{0};
    promise<int> source;
    future<void> continued = source.get_future().then(where, [&](int) { runs.fetch_add(1, sys::relaxed); });
    sys::thread producer([&] {
        source.set_value(2);
        where.run();
    });
    const bool was_canceled = continued.cancel();
    producer.join();
    check::that(runs.load(sys::relaxed) == (was_canceled ? 0 : 1), "run, or canceled");
    check::that(continued.is_ready(), "ended");
}

EKIDEN_MODEL(then_given_up, .about = "a continuation whose future goes, and a source whose promise goes",
             .preemptions = 3) {
    keeper::place place;
    const keeper where{&place};
    promise<int> source;
    future<void> continued = source.get_future().then(where, [](int) {});
    sys::thread producer([&where, source = std::move(source)]() mutable {
        promise<int>(std::move(source)); // broken
        where.run();
    });
    {
        const future<void> gone(std::move(continued));
    }
    producer.join();
}

EKIDEN_MODEL(when_all_of_two, .about = "the last of two results publishes both", .preemptions = 3) {
    promise<int> one;
    promise<int> other;
    sys::cell<int> written{0};
    auto all = when_all(one.get_future(), other.get_future());
    sys::thread first([&] {
        written.write(1);
        one.set_value(1);
    });
    other.set_value(2);
    auto [a, b] = all.get();
    check::that(a.get() + b.get() + written.read() == 4, "both, and what was done before them");
    first.join();
}

EKIDEN_MODEL(when_any_while_it_is_made,
             .about = "a result that comes while the others are still being attached", .preemptions = 3) {
    promise<int> one;
    promise<int> other;
    future<int> a = one.get_future();
    future<int> b = other.get_future();
    sys::thread first([&] { one.set_value(1); });
    {
        auto any = when_any(std::move(a), std::move(b)).get();
        check::that(any.index == 0 && std::get<0>(any.futures).get() == 1, "the only one");
    }
    other.set_value(2); // its future has gone
    first.join();
}

EKIDEN_MODEL(when_any_of_two_at_once, .about = "two results at once: one wins, and both can be taken",
             .preemptions = 1) {
    promise<int> one;
    promise<int> other;
    auto any = when_any(one.get_future(), other.get_future());
    sys::thread first([&] { one.set_value(1); });
    sys::thread second([&] { other.set_value(2); });
    {
        auto result = any.get();
        check::that(result.index < 2, "one of them");
        check::that(std::get<0>(result.futures).get() + std::get<1>(result.futures).get() == 3,
                    "both, in the end");
    }
    first.join();
    second.join();
}

} // namespace futures_continued_models

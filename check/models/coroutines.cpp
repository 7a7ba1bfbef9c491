// Coroutines: a wait for a result against its stop and against the end of the wait; coming home to an
// executor that refuses, and the end of its context.
#include <check/engine/model.hpp>
#include <check/models/coroutine_model.hpp>

#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace coroutines_models {

using namespace ekiden;

namespace {

/// Has room for one task, which is the only coroutine.
struct place : execution_context {
    sys::atomic<task*> queued{nullptr};
    sys::atomic<bool> is_closed{false};
    int refused = 0;

    /// False: there was nothing.
    bool run_one() {
        task* const found = queued.exchange(nullptr, sys::acquire);
        if (found != nullptr) found->run();
        return found != nullptr;
    }
    void close() noexcept { is_closed.store(true, sys::relaxed); }
    ~place() override { end_services(); }

    struct executor : task_sink<executor> {
        explicit executor(place& in) noexcept : in_(&in) {}
        place& context() const noexcept { return *in_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        bool accept(task* given, task_order) const {
            if (in_->is_closed.load(sys::relaxed)) {
                ++in_->refused;
                given->abandon();
                return false;
            }
            check::that(in_->queued.exchange(given, sys::acq_rel) == nullptr, "it comes home once");
            return true;
        }
        task* continue_with(task* given) const { return accept(given, task_order::usual), nullptr; }
        bool running_in_this_thread() const noexcept { return false; }
        void report_unhandled(const char*) const noexcept { check::that(false, "nothing is thrown"); }
        friend bool operator==(const executor&, const executor&) = default;

    private:
        place* in_;
    };
    executor get_executor() noexcept { return executor(*this); }
};

struct account {
    sys::cell<int> local{0}; // written by the frame's thread, then by its destructor
    int ended = 0;
    int resumed = 0;
    int canceled = 0;
    int value = 0;
};

/// Ends with the frame.
struct in_frame {
    account& all;
    explicit in_frame(account& of) noexcept : all(of) {}
    in_frame(const in_frame&) = delete;
    in_frame& operator=(const in_frame&) = delete;
    ~in_frame() {
        all.local.write(2);
        ++all.ended;
    }
};

detail::root_coroutine waits(future<int> result, account& all) {
    const in_frame here(all);
    all.local.write(1);
    try {
        all.value = co_await std::move(result);
    } catch (const operation_canceled&) {
        ++all.canceled;
    }
    ++all.resumed;
}

} // namespace

EKIDEN_MODEL(await_against_result, .about = "a coroutine that begins to wait while the result comes",
             .preemptions = 4) {
    place home;
    account all;
    sys::cell<int> written{0};
    promise<int> news;
    auto& root = waits(news.get_future(), all).promise();
    root.begin(home.get_executor());
    sys::thread producer([&written, promised = std::move(news)]() mutable {
        written.write(1);
        promised.set_value(5);
    });
    (void)home.run_one();
    producer.join();
    (void)home.run_one();
    check::that(all.value == 5 && all.resumed == 1 && all.ended == 1, "the result has come, once");
    check::that(written.read() == 1, "and what was done before it");
}

// The look at is_stopped_ is an acquire, which keeps it before what follows; the engine counts only releases.
EKIDEN_MODEL(await_against_stop, .load_buffering = false,
             .about = "a wait, its result, and a stop that comes at any moment", .preemptions = 2) {
    place home;
    account all;
    promise<int> news;
    stop_state stop;
    auto& root = waits(news.get_future(), all).promise();
    root.given_environment().stop = &stop;
    root.begin(home.get_executor());
    sys::thread stopper([&stop] { (void)stop.request_stop(); });
    sys::thread producer([promised = std::move(news)]() mutable { promised.set_value(5); });
    (void)home.run_one();
    stopper.join();
    producer.join();
    while (home.run_one()) {
    }
    check::that(all.ended == 1 && all.resumed == 1, "it ends once");
    check::that((all.value == 5) != (all.canceled == 1), "with the result, or with the stop");
}

EKIDEN_MODEL(await_stop_alone, .about = "a stop while a coroutine begins to wait is not lost",
             .preemptions = 4) {
    place home;
    account all;
    promise<int> never;
    stop_state stop;
    auto& root = waits(never.get_future(), all).promise();
    root.given_environment().stop = &stop;
    root.begin(home.get_executor());
    sys::thread stopper([&stop] { (void)stop.request_stop(); });
    (void)home.run_one();
    stopper.join();
    (void)home.run_one();
    check::that(all.canceled == 1 && all.ended == 1, "the stop has ended the wait");
}

EKIDEN_MODEL(await_refused_home,
             .about = "a result against an executor that closes; the context's end destroys once",
             .preemptions = 4) {
    account all;
    {
        place home;
        promise<int> news;
        auto& root = waits(news.get_future(), all).promise();
        root.begin(home.get_executor());
        (void)home.run_one();
        sys::thread producer([promised = std::move(news)]() mutable { promised.set_value(5); });
        home.close();
        producer.join();
        if (task* const queued = home.queued.exchange(nullptr, sys::acquire))
            queued->abandon(); // as a pool does
        check::that(all.resumed == 0, "nothing is resumed");
        if (home.refused != 0) {
            check::that(all.ended == 0, "nothing is destroyed inside of the post");
            use_service<detail::coroutine_service>(home).end_buried();
            check::that(all.ended == 1, "but by whoever spawns next");
        }
    }
    check::that(all.ended == 1 && all.resumed == 0, "the frame has ended once");
    check::that(all.local.read() == 2, "and its end is ordered behind its run");
}

EKIDEN_MODEL(
    await_refused_elsewhere,
    .about = "an executor that closes refuses a result: the coroutine ends in the context of its root",
    .preemptions = 3) {
    account all;
    place elsewhere;
    context_model::model_context home;
    promise<int> news;
    auto whole = [&]() -> coroutine<> {
        const in_frame here(all);
        co_await resume_on(elsewhere.get_executor());
        all.local.write(1);
        all.value = co_await news.get_future();
        ++all.resumed;
    };
    coroutine_model::begin(home, whole);
    home.run();
    (void)elsewhere.run_one();
    sys::thread producer([&news] { news.set_value(5); });
    sys::thread runner([&home] { home.run(); });
    elsewhere.close();
    producer.join();
    runner.join();
    if (elsewhere.run_one()) { // it was faster: the root comes home
        check::that(all.resumed == 1, "it has the result");
    } else {
        check::that(elsewhere.refused == 1 && all.resumed == 0, "nothing is resumed");
    }
    home.run();
    check::that(all.ended == 1, "the frame has ended once, and the context goes on");
    check::that(all.local.read() == 2, "and its end is ordered behind its run");
}

EKIDEN_MODEL(await_never_ended, .about = "what waits for something outside ends with the context",
             .preemptions = 2) {
    account all;
    promise<int> never;
    {
        place home;
        auto& root = waits(never.get_future(), all).promise();
        root.begin(home.get_executor());
        sys::thread runner([&home] { (void)home.run_one(); });
        runner.join();
    }
    check::that(all.ended == 1 && all.resumed == 0, "the frame has ended once");
}

namespace {

/// A root that is suspended, and which its context refuses from now on; and what sync_wait() has of it.
struct waited_for {
    account all;
    promise<int> news;
    std::optional<place> home{std::in_place};
    detail::root_wait waiting{use_service<detail::coroutine_service>(*home).buried()};

    waited_for() {
        auto whole = [this]() -> coroutine<> {
            const in_frame here(all);
            all.local.write(1);
            all.value = co_await news.get_future();
            ++all.resumed;
        };
        detail::begin_spawned(home->get_executor(), whole, detail::tells_wait<void>(waiting),
                              spawn_options());
        (void)home->run_one();
        home->close();
    }
    void wait() {
        waiting.wait();
        check::that(all.ended == 1 && all.resumed == 0, "nothing is left when the wait has ended");
        check::that(all.local.read() == 2, "and its end is ordered before that");
    }
};

} // namespace

EKIDEN_MODEL(await_buried_while_waited_for,
             .about = "sync_wait() ends what its context refuses, without the end of that",
             .preemptions = 3) {
    waited_for root;
    sys::thread producer([&root] { root.news.set_value(5); });
    root.wait();
    producer.join();
}

EKIDEN_MODEL(await_buried_as_context_ends,
             .about = "sync_wait() ends what its context refuses, against the end of that",
             .preemptions = 3) {
    waited_for root;
    sys::thread waiter([&root] { root.wait(); });
    root.news.set_value(5);
    root.home.reset();
    check::that(root.all.ended == 1, "nothing is left when the context has ended");
    waiter.join();
}

} // namespace coroutines_models

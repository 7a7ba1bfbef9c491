#include <ekiden/sim/detail/runner.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <cstdio>
#include <exception>
#include <limits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

/// The state that the explorer shares with the thread that runs simulations. A blocked thread keeps the state
/// alive.
struct runner::place {
    place(detail::test_reference t, const options& o) : test(t), chosen(o) {}

    const detail::test_reference test;
    const options chosen;
    // The explorer and the thread use the next five members in turn. The explorer uses these members until it
    // wakes the thread. Then the thread uses these members until it wakes the explorer.
    run_request request;
    run_answer answer;
    bool ends = false;
    bool is_lost = false;
    std::exception_ptr refusal; // an exception that the test did not throw, such as std::bad_alloc
    sys::parker thread;
    sys::parker explorer;
    pulse beat; // The explorer may read this member at any time.

    void serve();
    void run_all();
    [[nodiscard]] bool run_one(std::uint64_t seed, outcome& to);
    void take(simulation& from, outcome& to);
};

/// Moves the results out of the simulation. The simulation must not be used afterwards.
void runner::place::take(simulation& from, outcome& to) {
    to.found = from.failure();
    to.made = from.made();
    to.steps = from.steps();
    to.step_count = from.step_count();
    to.schedule_choices = from.schedule_choices();
    to.marks = from.marks();
    to.by = from.plan() != nullptr ? from.plan()->kind() : scheduler::dull;
    to.plan = from.plan() != nullptr && !to.is_clean() ? from.plan()->describe() : std::string();
}

/// Returns whether no failure was found.
bool runner::place::run_one(std::uint64_t seed, outcome& to) {
    std::optional<simulation> world;
    if (request.played != nullptr)
        world.emplace(*request.played, chosen);
    else
        world.emplace(seed, request.expected, chosen);
    world->beat(beat);
    world->on_give_up([this, &world, &to, seed] {
        take(*world, to);
        if (&to != &answer.last)
            answer.last.found = {verdict::irreproducible, "of two runs with the same choices one blocks", {}};
        answer.seed = seed;
        is_lost = true;
        explorer.unpark();
    });
    {
        std::optional<sim_context> first(std::in_place, context_options{.name = "main"});
        try {
            test(*first);
            if (!world->has_run() && world->has_queued())
                world->fail(verdict::lost,
                            "the test has returned and run nothing: it calls run() of its context");
            world->throw_if_failed();
        } catch (const run_ended&) {
        } catch (const std::exception& error) {
            world->fail(verdict::exception, std::string("the test has thrown: ") + error.what());
        } catch (...) {
            world->fail(verdict::exception, "the test has thrown something that is no std::exception");
        }
        world->end_test();
    }
    take(*world, to);
    return to.is_clean();
}

void runner::place::run_all() {
    for (std::uint64_t seed = request.seed;; ++seed) {
        answer.seed = seed;
        ++answer.runs;
        bool is_clean = run_one(seed, answer.last);
        answer.steps += answer.last.step_count;
        for (const auto& [mark, count] : answer.last.marks) ++answer.marks[mark];
        if (is_clean && chosen.check_every != 0 && request.played == nullptr
            && seed % chosen.check_every == 0) {
            outcome again;
            (void)run_one(seed, again);
            const std::string difference = answer.last.steps.first_difference(again.steps);
            if (!difference.empty()) {
                answer.last.found = {
                    verdict::irreproducible,
                    "two runs with the same choices differ: something else than the seed decides",
                    difference};
                is_clean = false;
            }
        }
        if (!is_clean || seed == request.last) return;
    }
}

void runner::place::serve() {
    for (;;) {
        thread.park();
        if (ends) return;
        try {
            run_all();
        } catch (...) {
            refusal = std::current_exception();
        }
        explorer.unpark();
    }
}

runner::runner(detail::test_reference test, const options& chosen) : test_(test), options_(chosen) {}

runner::~runner() {
    if (place_ == nullptr) return;
    place_->ends = true;
    place_->thread.unpark();
    thread_.join();
}

void runner::start() {
    place_ = std::make_shared<place>(test_, options_);
    try {
        thread_ = sys::start_thread("simulation", "the thread that runs the test", [kept = place_] {
            sys::set_thread_name("ekiden-sim");
            kept->serve();
        });
    } catch (...) {
        place_ = nullptr;
        throw;
    }
}

run_answer runner::run(const run_request& request) {
    if (place_ == nullptr) start();
    place& at = *place_;
    at.request = request;
    at.answer = {};
    at.thread.unpark();
    watch(at);
    run_answer answer = std::move(at.answer);
    if (at.is_lost) { // The blocked thread keeps its `place` alive.
        thread_.detach();
        place_ = nullptr;
    } else if (at.refusal != nullptr) {
        std::rethrow_exception(std::exchange(at.refusal, nullptr));
    }
    return answer;
}

/// Waits until the answer is ready. If a step takes long, prints the name of the step to standard error. The
/// step may still complete.
void runner::watch(place& at) {
    const blocked_here waiting("a simulation");
    if (options_.watch.count() <= 0) return at.explorer.park();
    const auto never = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t seen = never;
    while (!at.explorer.park_until(sys::clock::now() + sys::bounded(options_.watch))) {
        // Relaxed is enough, because these values are only compared and displayed.
        const std::uint32_t now = at.beat.steps.load(sys::relaxed);
        const task::function type = at.beat.type.load(sys::relaxed);
        if (now == seen && type != nullptr) {
            const std::string name(described_type(type(nullptr, task_request::describe)));
            std::fprintf(stderr,
                         "ekiden: simulation: nothing has followed %s for some time: does it block?\n",
                         name.c_str());
            return at.explorer.park();
        }
        seen = now;
    }
}

} // namespace ekiden::inline EKIDEN_ABI::sim

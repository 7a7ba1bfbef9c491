/// The variants of experiment allocations with contexts: handlers posted to a context or a strand, waits of a
/// timer, futures, hops of a coroutine. The posting thread also runs the context.
#pragma once

#include <lab/experiments/allocations/allocations.hpp>
#include <lab/experiments/coroutine-hop/coroutine_hop.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace lab::allocations {

/// A handler that posts its successor. Measures what a handler allocates for the next one.
template <class Library, class Where>
struct successor {
    Where* where;
    completion* done;
    std::size_t left;

    void operator()() const {
        done->hit();
        if (left > 0) Library::post(*where, successor{where, done, left - 1});
    }
};

/// A timer's handler that starts another wait.
template <class Timer>
struct waiting_again {
    Timer* timer;
    completion* done;
    std::size_t left;

    template <class Error>
    void operator()(const Error&) const {
        done->hit();
        if (left == 0) return;
        timer->expires_after(std::chrono::nanoseconds(0));
        timer->async_wait(waiting_again{timer, done, left - 1});
    }
};

template <class Library>
class executor_waves {
public:
    explicit executor_waves(cell& c) : c_(c), waves_(c.pick(2, 20, 200)) {}

    /// `where` is the context or a strand of it.
    template <class Where>
    void posts(Where& where, repetition& found) {
        found.figures["per_task"] = waves([&] {
            for (std::size_t i = 0; i < tasks; ++i) {
                Library::post(where, [this] { done_.hit(); });
                run();
            }
        });
        found.figures["at_once"] = waves([&] {
            for (std::size_t i = 0; i < tasks; ++i) Library::post(where, [this] { done_.hit(); });
        });
        found.figures["inside"] =
            waves([&] { Library::post(where, successor<Library, Where>{&where, &done_, tasks - 1}); });
    }

    void context(repetition& found) { posts(context_, found); }

    void strand(repetition& found) {
        auto strand = Library::strand_of(context_);
        posts(strand, found);
    }

    void timer(repetition& found) {
        using clock_timer = typename Library::timer;
        clock_timer timer(context_);
        found.figures["per_task"] = waves([&] {
            for (std::size_t i = 0; i < tasks; ++i) {
                timer.expires_after(std::chrono::nanoseconds(0));
                timer.async_wait([this](const auto&) { done_.hit(); });
                run();
            }
        });
        found.figures["inside"] = waves([&] {
            timer.expires_after(std::chrono::nanoseconds(0));
            timer.async_wait(waiting_again<clock_timer>{&timer, &done_, tasks - 1});
        });
    }

    void future(repetition& found) {
        found.figures["per_task"] = waves([&] {
            for (std::size_t i = 0; i < tasks; ++i) {
                auto result = Library::future_of(context_, [this, i] {
                    done_.hit();
                    return i;
                });
                run();
                if (result.get() != i) c_.fail("a handler's future had a wrong result");
            }
        });
    }

private:
    static constexpr std::size_t tasks = 1'000;

    template <class Begin>
    double waves(Begin begin) {
        return per_task(c_, waves_, tasks, [&] {
            done_.expect(tasks);
            begin();
            run();
            done_.wait(c_);
        });
    }

    void run() {
        context_.run();
        context_.restart();
    }

    cell& c_;
    std::size_t waves_;
    completion done_;
    typename Library::context context_{1};
};

template <class Library>
void run_executors(cell& c) {
    executor_waves<Library> all(c);
    repetition found;
    found.used = c.measure([&] {
        if (c.asked().variant == "context")
            all.context(found);
        else if (c.asked().variant == "strand")
            all.strand(found);
        else if (c.asked().variant == "timer")
            all.timer(found);
        else
            all.future(found);
    });
    c.report(found);
}

/// A coroutine that hops 1,000 times between two strands. Its start is counted, too.
template <class Hops>
void run_hops(cell& c) {
    constexpr std::size_t hops = 1'000;
    Hops system(1);
    repetition found;
    found.used = c.measure([&] {
        found.figures["per_task"] = per_task(c, c.pick(2, 20, 200), hops, [&] {
            coroutine_hop::journey all;
            all.hops = hops;
            system.start(all);
            system.run();
            system.restart();
            all.check(c);
        });
    });
    c.report(found);
}

/// For a library with a pool (System), with contexts, and with coroutines.
template <class System, class Library, class Hops>
void run_both(cell& c) {
    if (c.asked().variant == "post" || c.asked().variant == "submit")
        run<System>(c);
    else if (c.asked().variant == "hop")
        run_hops<Hops>(c);
    else
        run_executors<Library>(c);
}

} // namespace lab::allocations

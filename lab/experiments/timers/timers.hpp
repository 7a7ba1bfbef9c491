/// Experiment timers: the cost of starting a wait, canceling it, firing it, and keeping it.
///
/// Almost all timers are canceled, often by a thread other than the waiting one. The deadlines of the
/// canceled timers are spread evenly over 1 to 10 s from now, like timeouts.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace lab::timers {

using clock = std::chrono::steady_clock;

/// The outcomes of the waits.
struct ends {
    std::atomic<std::size_t> expired{0};
    std::atomic<std::size_t> cancelled{0};

    [[nodiscard]] std::size_t all() const { return expired.load() + cancelled.load(); }
    void check(const cell& c, std::size_t of_expired, std::size_t of_cancelled) const {
        if (expired == of_expired && cancelled == of_cancelled) return;
        c.fail(std::to_string(expired) + " waits expired and " + std::to_string(cancelled)
               + " were cancelled where it should have been " + std::to_string(of_expired) + " and "
               + std::to_string(of_cancelled));
    }
};

/// The handler of a wait. It has 16 bytes, like typical small handlers.
struct handler {
    ends* counts;
    std::size_t number;

    template <class Error>
    void operator()(const Error& error) const {
        (error ? counts->cancelled : counts->expired).fetch_add(1, std::memory_order_relaxed);
    }
};

template <class System>
std::vector<std::unique_ptr<typename System::timer>> make(typename System::context& context,
                                                          std::size_t count) {
    std::vector<std::unique_ptr<typename System::timer>> all;
    all.reserve(count);
    for (std::size_t i = 0; i != count; ++i) all.push_back(std::make_unique<typename System::timer>(context));
    return all;
}

/// Returns distances that are spread evenly over 1 to 10 s, the same for all systems.
inline std::vector<std::chrono::nanoseconds> distances(std::size_t count) {
    std::mt19937_64 random(1);
    std::uniform_int_distribution<std::int64_t> between(1'000'000'000, 10'000'000'000);
    std::vector<std::chrono::nanoseconds> all(count);
    for (auto& one : all) one = std::chrono::nanoseconds(between(random));
    return all;
}

inline double per(double seconds, std::size_t count) { return seconds * 1e9 / static_cast<double>(count); }

/// One thread starts `count` waits, cancels all of them in another order, and runs their handlers.
template <class System>
void one_thread(cell& c, std::size_t count) {
    const auto distance = distances(count);
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i != count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937_64(2));
    typename System::context context(1);
    const auto timers = make<System>(context, count);
    // Repeats small counts, so that each repetition is long enough to be timed.
    const std::size_t rounds = std::max<std::size_t>(1, c.pick(2'000, 100'000, 500'000) / count);
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        ends counts;
        double schedule_s = 0;
        double cancel_s = 0;
        double run_s = 0;
        repetition found;
        const auto go = [&] {
            for (std::size_t round = 0; round != rounds; ++round) {
                const usage begin = usage_now();
                for (std::size_t i = 0; i != count; ++i) {
                    timers[i]->expires_after(distance[i]);
                    timers[i]->async_wait(handler{&counts, i});
                }
                const usage armed = usage_now();
                for (const std::size_t i : order) timers[i]->cancel();
                const usage cancelled = usage_now();
                context.restart();
                context.run();
                const usage done = usage_now();
                schedule_s += (armed - begin).wall_s;
                cancel_s += (cancelled - armed).wall_s;
                run_s += (done - cancelled).wall_s;
            }
        };
        if (r == 0)
            go();
        else
            found.used = c.measure(go);
        counts.check(c, 0, rounds * count);
        if (r == 0) continue;
        found.figures["schedule_ns"] = per(schedule_s, rounds * count);
        found.figures["cancel_ns"] = per(cancel_s, rounds * count);
        found.figures["run_ns"] = per(run_s, rounds * count);
        c.report(found);
    }
}

/// The thread that runs the context starts the waits. Another thread cancels 99 of 100, immediately
/// afterwards.
template <class System>
void from_another_thread(cell& c, std::size_t count) {
    const auto distance = distances(count);
    const std::size_t rounds = std::max<std::size_t>(1, c.pick(2'000, 300'000, 1'000'000) / count);
    typename System::context context(2);
    auto timers = make<System>(context, count);
    const std::size_t left = (count + 99) / 100;
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        ends counts;
        std::atomic<std::size_t> armed{0}; // over all rounds
        std::atomic<std::size_t> seen{0};
        std::thread canceller([&] {
            c.place_this_thread(1);
            for (std::size_t round = 0; round != rounds; ++round) {
                for (std::size_t i = 0; i != count; ++i) {
                    while (armed.load(std::memory_order_acquire) <= round * count + i)
                        std::this_thread::yield();
                    if (i % 100 != 0) timers[i]->cancel();
                }
                seen.store(round + 1, std::memory_order_release);
            }
        });
        double end_s = 0; // of the last ones, which is not measured
        repetition found;
        const auto go = [&] {
            for (std::size_t round = 0; round != rounds; ++round) {
                for (std::size_t i = 0; i != count; ++i) {
                    timers[i]->expires_after(distance[i]);
                    timers[i]->async_wait(handler{&counts, i});
                    if (i % 16 == 15) armed.store(round * count + i + 1, std::memory_order_release);
                }
                armed.store((round + 1) * count, std::memory_order_release);
                context.restart();
                while (seen.load(std::memory_order_acquire) != round + 1) context.poll();
                context.poll();
                const usage begin = usage_now();
                for (std::size_t i = 0; i < count; i += 100) timers[i]->cancel();
                context.restart();
                context.run();
                end_s += (usage_now() - begin).wall_s;
            }
        };
        if (r == 0)
            go();
        else
            found.used = c.measure(go);
        canceller.join();
        counts.check(c, 0, rounds * count);
        if (r == 0) continue;
        found.figures["remote_ns"] = per(found.used.wall_s - end_s, rounds * (count - left));
        found.figures["cpu_ns"] = per(found.used.cpu_s(), rounds * count);
        c.report(found);
    }
}

/// All timers have expired when the context starts to run.
template <class System>
void fire(cell& c, std::size_t count) {
    typename System::context context(1);
    const auto timers = make<System>(context, count);
    std::mt19937_64 random(3);
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        ends counts;
        repetition found;
        const auto first = clock::now() + std::chrono::milliseconds(2 + count / 2'000);
        for (std::size_t i = 0; i != count; ++i) {
            timers[i]->expires_at(first + std::chrono::microseconds(random() % 1000));
            timers[i]->async_wait(handler{&counts, i});
        }
        std::this_thread::sleep_until(first + std::chrono::milliseconds(2));
        context.restart();
        const auto go = [&] { context.run(); };
        if (r == 0)
            go();
        else
            found.used = c.measure(go);
        counts.check(c, count, 0);
        if (r == 0) continue;
        found.figures["fire_ns"] = per(found.used.wall_s, count);
        c.report(found);
    }
}

/// Sets a timer, sets it again and destroys it, without a wait. This is a timeout that a fast operation never
/// needs.
template <class System>
void never_waited_for(cell& c) {
    const std::size_t count = c.pick(2'000, 2'000'000, 10'000'000);
    typename System::context context(1);
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        repetition found;
        std::size_t cancelled = 0;
        const auto go = [&] {
            for (std::size_t i = 0; i != count; ++i) {
                typename System::timer timer(context);
                timer.expires_after(std::chrono::seconds(5));
                cancelled += timer.cancel();
            }
        };
        if (r == 0)
            go();
        else
            found.used = c.measure(go);
        if (cancelled != 0) c.fail("a wait was cancelled where there was none");
        if (r == 0) continue;
        found.figures["unused_ns"] = per(found.used.wall_s, count);
        c.report(found);
    }
}

/// How late handlers begin, on a context that does nothing else.
template <class System>
void accuracy(cell& c) {
    const std::size_t count = c.pick(200, 10'000, 50'000);
    const auto span = std::chrono::microseconds(count * 50);
    for (unsigned r = 0; r == 0 || c.again(r - 1); ++r) {
        typename System::context context(1);
        const auto timers = make<System>(context, count);
        std::vector<double> late_us;
        late_us.reserve(count);
        std::mt19937_64 random(4);
        const auto first = clock::now() + std::chrono::milliseconds(2 + count / 2'000);
        for (auto& timer : timers) {
            const auto expiry = first + std::chrono::nanoseconds(random() % (span.count() * 1000ULL));
            timer->expires_at(expiry);
            timer->async_wait([&late_us, expiry](const auto&) {
                late_us.push_back(std::chrono::duration<double, std::micro>(clock::now() - expiry).count());
            });
        }
        repetition found;
        found.used = c.measure([&] { context.run(); });
        if (late_us.size() != count) c.fail("not all timers have fired");
        std::sort(late_us.begin(), late_us.end());
        if (late_us.front() < 0) c.fail("a timer fired before its time");
        if (r == 0) continue;
        found.figures["late_us"] = late_us[count / 2];
        found.figures["late_p99_us"] = late_us[count * 99 / 100];
        found.figures["cpu_ns"] = per(found.used.cpu_s(), count);
        c.report(found);
    }
}

/// Returns the resident bytes of the process.
inline double resident(const cell& c) {
    const double bytes = resident_bytes();
    if (bytes == 0) c.not_applicable("the system does not say how much memory a process has");
    return bytes;
}

/// The memory of a timer with a wait, including all that the library keeps for it; and of the object alone.
template <class System>
void memory(cell& c) {
    const std::size_t count = c.pick(10'000, 1'000'000, 1'000'000);
    ends counts;
    repetition found;
    const auto each = [count](double bytes) { return bytes / static_cast<double>(count); };
    found.used = c.measure([&] {
        const auto distance = distances(count);
        typename System::context context(1);
        const double before = resident(c);
        const auto timers = make<System>(context, count);
        const double made = resident(c);
        for (std::size_t i = 0; i != count; ++i) {
            timers[i]->expires_after(distance[i]);
            timers[i]->async_wait(handler{&counts, i});
        }
        found.figures["armed_bytes"] = each(resident(c) - before);
        found.figures["unarmed_bytes"] = each(made - before);
        found.figures["object_bytes"] = sizeof(typename System::timer);
        for (auto& timer : timers) timer->cancel();
        context.run();
    });
    counts.check(c, 0, count);
    c.report(found);
}

template <class System>
void run(cell& c) {
    const std::string& variant = c.asked().variant;
    const std::size_t few = 1'000;
    const std::size_t many = c.pick(20'000, 1'000'000, 1'000'000);
    if (variant == "schedule-few" || variant == "cancel-few")
        one_thread<System>(c, few);
    else if (variant == "schedule-many" || variant == "cancel-many")
        one_thread<System>(c, many);
    else if (variant == "remote-few")
        from_another_thread<System>(c, few);
    else if (variant == "remote-many")
        from_another_thread<System>(c, many);
    else if (variant == "fire-few")
        fire<System>(c, few);
    else if (variant == "fire-many")
        fire<System>(c, many);
    else if (variant == "unused")
        never_waited_for<System>(c);
    else if (variant == "accuracy")
        accuracy<System>(c);
    else
        memory<System>(c);
}

} // namespace lab::timers

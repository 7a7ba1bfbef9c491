/// Experiment timer-cancel: does a handler report that it was cancelled if cancel() had returned before the
/// handler began?
///
/// "article" is the source's program: a timer of 1 ns, and a posted handler that cancels it. In "one-thread"
/// and "several-threads", many timers expire at the same time, so that their handlers are queued together.
/// The first handler to run cancels all timers.
#pragma once

#include <lab/harness/cell.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lab::timer_cancel {

/// The reports of the handlers that begin after cancel() has returned.
struct reports {
    std::atomic<std::size_t> too_late{0}; // handlers that began after cancel() had returned
    std::atomic<std::size_t> say_so{0};   // handlers among these that report it
    std::atomic<std::size_t> all{0};

    template <class Error>
    void begins(const std::atomic<bool>& is_cancelled, const Error& error) {
        if (is_cancelled.load()) {
            too_late.fetch_add(1);
            if (error) say_so.fetch_add(1);
        }
        all.fetch_add(1);
    }
};

template <class System>
void article(reports& seen) {
    typename System::context context(1);
    std::atomic<bool> is_cancelled{false};
    typename System::timer timer(context, std::chrono::nanoseconds(1));
    timer.async_wait([&](const auto& error) { seen.begins(is_cancelled, error); });
    System::post(context, [&] {
        timer.cancel();
        is_cancelled.store(true);
    });
    context.run();
}

constexpr std::size_t at_once = 200;

/// Timers that expire at the same time, on a context that `threads` threads run.
template <class System>
void together(unsigned threads, reports& seen) {
    typename System::context context(static_cast<int>(threads));
    struct one {
        std::unique_ptr<typename System::timer> timer;
        std::atomic<bool> is_cancelled{false};
    };
    std::vector<one> timers(at_once);
    std::atomic<bool> is_first{true};
    const auto expiry = std::chrono::steady_clock::now() + std::chrono::microseconds(500);
    for (one& t : timers) {
        t.timer = std::make_unique<typename System::timer>(context, expiry);
        t.timer->async_wait([&](const auto& error) {
            seen.begins(t.is_cancelled, error);
            if (!is_first.exchange(false)) return;
            for (one& other : timers) {
                other.timer->cancel();
                other.is_cancelled.store(true);
            }
        });
    }
    std::this_thread::sleep_until(expiry);
    std::vector<std::thread> others;
    for (unsigned t = 1; t != threads; ++t) others.emplace_back([&] { context.run(); });
    context.run();
    for (auto& t : others) t.join();
}

template <class System>
void run(cell& c) {
    const bool is_article = c.asked().variant == "article";
    const std::size_t count = c.pick(20, 300, 3'000);
    reports seen;
    repetition found;
    found.used = c.measure([&] {
        for (std::size_t i = 0; i != count; ++i) {
            if (is_article)
                article<System>(seen);
            else
                together<System>(c.asked().variant == "one-thread" ? 1 : c.workers(), seen);
        }
    });
    if (seen.all != count * (is_article ? 1 : at_once)) c.fail("not every wait has ended once");
    if (seen.too_late == 0) c.not_applicable("no handler began after cancel()");
    found.figures["cancelled"] = static_cast<double>(seen.say_so) / static_cast<double>(seen.too_late);
    found.figures["handlers"] = static_cast<double>(seen.too_late);
    c.report(found);
}

} // namespace lab::timer_cancel

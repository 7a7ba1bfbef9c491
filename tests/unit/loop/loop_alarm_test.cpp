// How a loop drives timers: with an alarm clock in the place of a timer service.
#include <ekiden/loop/loop_context.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

using ekiden::loop_context;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t in(std::chrono::nanoseconds length) {
    return static_cast<std::int64_t>(ekiden::sys::now_ns()) + length.count();
}

/// One alarm, which posts a function when it is due. A pending one is outstanding work.
class one_alarm final : public ekiden::execution_context::service, public ekiden::alarm_clock {
public:
    explicit one_alarm(ekiden::execution_context& owner)
        : service(owner), executor_(dynamic_cast<loop_context&>(owner).get_executor()) {}

    [[nodiscard]] bool is_driven() const { return is_driven_; }

    void set(std::int64_t when, std::function<void()> then) {
        executor_.on_work_started();
        {
            const std::lock_guard guard(lock_);
            then_ = std::move(then);
            next_.store(when);
        }
        tell_earlier_alarm();
    }
    std::atomic<int> rings{0};

    [[nodiscard]] std::int64_t next_ns() const noexcept override { return next_.load(); }
    void ring() noexcept override {
        rings.fetch_add(1);
        std::function<void()> due;
        {
            const std::lock_guard guard(lock_);
            if (next_.load() > static_cast<std::int64_t>(ekiden::sys::now_ns())) return;
            next_.store(never);
            due = std::move(then_);
        }
        if (!due) return;
        executor_.post(std::move(due));
        executor_.on_work_finished();
    }

private:
    void added() noexcept override { is_driven_ = be_rung(*this); }
    void shutdown() noexcept override { then_ = nullptr; }

    const loop_context::executor_type executor_;
    bool is_driven_ = false;
    std::mutex lock_;
    std::function<void()> then_;
    std::atomic<std::int64_t> next_{never};
};

constexpr int hints[] = {1, 2};

} // namespace

TEST_CASE("A loop that waits rings when the time has come, not before") {
    for (const int hint : hints) {
        loop_context loop(hint);
        auto& alarm = use_service<one_alarm>(loop);
        CHECK(alarm.is_driven());
        const std::int64_t due = in(3ms);
        std::int64_t ran = 0;
        alarm.set(due, [&] { ran = in(0ns); });
        CHECK(loop.run() == 1);
        CHECK(ran >= due);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("An alarm that becomes earlier while the loop sleeps is rung in time") {
    for (const int hint : hints) {
        for (int round = 0; round != ekiden_test::rounds(100); ++round) {
            loop_context loop(hint);
            const auto executor = loop.get_executor();
            executor.on_work_started();
            auto& alarm = use_service<one_alarm>(loop);
            bool is_late = false;
            std::thread setter([&] {
                if (round % 3 == 0) std::this_thread::sleep_for(200us);
                alarm.set(in(1h), [&] { is_late = true; });
                if (round % 3 == 1) std::this_thread::sleep_for(200us);
                alarm.set(in(0ns), [&] {
                    executor.on_work_finished(); // the first setting
                    executor.on_work_finished();
                });
            });
            CHECK(loop.run() == 1); // would last an hour
            CHECK_FALSE(is_late);
            setter.join();
        }
    }
}

TEST_CASE("An alarm set by a task, before the loop sleeps, is rung") {
    for (const int hint : hints) {
        loop_context loop(hint);
        auto& alarm = use_service<one_alarm>(loop);
        int left = 20;
        std::function<void()> again = [&] {
            if (--left != 0) alarm.set(in(50us), again);
        };
        loop.get_executor().post([&] { again(); });
        CHECK(loop.run() == 20);
    }
}

TEST_CASE("A loop that is never idle rings all the same, with short tasks and with long ones") {
    for (const int hint : hints) {
        for (const auto length : {0us, 300us}) {
            loop_context loop(hint);
            const auto executor = loop.get_executor();
            auto& alarm = use_service<one_alarm>(loop);
            bool has_rung = false;
            int after_due = 0;
            std::int64_t due = 0;
            std::function<void()> again = [&] {
                const std::int64_t end = in(length);
                while (in(0ns) < end) {
                }
                if (in(0ns) > due) ++after_due;
                if (!has_rung) executor.post([&] { again(); });
            };
            for (int i = 0; i != 10; ++i) executor.post([&] { again(); });
            due = in(1ms);
            alarm.set(due, [&] { has_rung = true; });
            (void)loop.run();
            CHECK(has_rung);
            // 64 tasks at most until the look, and those that were queued before it.
            CHECK(after_due <= 64 + 2 * 10);
        }
    }
}

TEST_CASE("poll rings what is due, and runs it") {
    for (const int hint : hints) {
        CAPTURE(hint);
        loop_context loop(hint);
        auto& alarm = use_service<one_alarm>(loop);
        int ran = 0;
        alarm.set(in(1h), [&] { ++ran; });
        CHECK(loop.poll() == 0);
        alarm.set(in(0ns), [&] {
            ++ran;
            loop.get_executor().on_work_finished(); // the first setting
        });
        CHECK(loop.poll() == 1);
        CHECK(ran == 1);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("run_for ends before an alarm that is later") {
    for (const int hint : hints) {
        loop_context loop(hint);
        auto& alarm = use_service<one_alarm>(loop);
        alarm.set(in(1h), [] {});
        CHECK(loop.run_for(1ms) == 0);
        CHECK_FALSE(loop.is_stopped());
    }
}

TEST_CASE("Of several threads one watches the clock, and another one does when that is at work") {
    for (int round = 0; round != ekiden_test::rounds(50); ++round) {
        loop_context loop(4);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        auto& alarm = use_service<one_alarm>(loop);
        std::vector<std::thread> threads;
        for (int i = 0; i != 3; ++i) threads.emplace_back([&] { (void)loop.run(); });
        // Two of three are held up, one after the other, each by what the alarm brings: the third must ring.
        std::latch last(1);
        alarm.set(in(100us), [&] {
            alarm.set(in(100us), [&] {
                alarm.set(in(100us), [&] {
                    last.count_down();
                    executor.on_work_finished();
                });
                last.wait();
            });
            last.wait();
        });
        for (std::thread& t : threads) t.join();
        CHECK(alarm.rings.load() >= 3);
    }
}

TEST_CASE("A context that ends with an alarm pending does not ring it") {
    for (const int hint : hints) {
        auto token = std::make_shared<int>(0);
        {
            loop_context loop(hint);
            auto& alarm = use_service<one_alarm>(loop);
            alarm.set(in(0ns), [token] { ++*token; });
        }
        CHECK(*token == 0);
        CHECK(token.use_count() == 1);
    }
}

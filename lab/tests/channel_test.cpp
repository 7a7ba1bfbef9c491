#include <lab/experiments/channel/threads.hpp>
#include <lab/tests/failure_of.hpp>

#include <condition_variable>
#include <deque>
#include <doctest/doctest.h>
#include <functional>
#include <mutex>
#include <utility>

namespace {

namespace channel = lab::channel;

channel::setting setting_of(const char* variant) {
    return channel::parse(lab::cell({.variant = variant, .turns_per_us = 1'000}, -1));
}

/// A queue with a mutex. `change` may change the queue after the 100th push.
class toy {
public:
    explicit toy(std::function<void(std::deque<std::uint64_t>&)> change) : change_(std::move(change)) {}

    void push(std::uint64_t item) {
        const std::lock_guard lock(mutex_);
        items_.push_back(item);
        if (++pushes_ == 100) change_(items_);
        changed_.notify_one();
    }
    std::uint64_t pop() {
        std::unique_lock lock(mutex_);
        // The consumers begin when two items of a producer can be exchanged.
        changed_.wait(lock, [this] { return pushes_ >= 100 && !items_.empty(); });
        const std::uint64_t item = items_.front();
        items_.pop_front();
        return item;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::uint64_t> items_;
    std::function<void(std::deque<std::uint64_t>&)> change_;
    int pushes_ = 0;
};

std::string failure_of(const char* variant, const std::function<void(std::deque<std::uint64_t>&)>& change) {
    return lab::failure_of([&](const lab::cell& outer) {
        lab::cell c({.variant = variant}, -1);
        const channel::setting s = channel::parse(c);
        std::vector<channel::sink> sinks(s.consumers, channel::sink(s));
        toy between(change);
        channel::pass_in_threads(
            c, s, sinks, [&] { return [&](std::uint64_t item) { between.push(item); }; },
            [&] { return [&] { return between.pop(); }; });
        channel::check(outer, s, sinks);
    });
}

} // namespace

TEST_CASE("the name of a channel's variant says who passes what to whom") {
    const channel::setting full = setting_of("8 to 1, 64, full");
    CHECK(full.producers == 8);
    CHECK(full.consumers == 1);
    CHECK(full.capacity == 64);
    CHECK_FALSE(full.in_threads);
    CHECK(full.threads == 2);
    CHECK(full.each == 500);
    CHECK(full.produce_turns == 0);
    CHECK(full.consume_turns == 200);
    CHECK(setting_of("8 to 1, 64, empty").produce_turns == 200);
    CHECK(setting_of("8 to 8, 64, 1 thread").threads == 1);
    CHECK(setting_of("1 to 8, unbounded").capacity == channel::unbounded);
    const channel::setting threads = setting_of("1 to 1, 0, threads");
    CHECK(threads.in_threads);
    CHECK(threads.capacity == 0);
    CHECK(threads.each == 400);
    CHECK(setting_of("1 to 1, 1024, threads").each == 4'000);
}

TEST_CASE("a channel that keeps every item and the order is right") {
    for (const char* variant : {"1 to 1, unbounded, threads", "8 to 8, unbounded, threads"})
        CHECK(failure_of(variant, [](auto&) {}).empty());
}

TEST_CASE("a channel that loses an item, passes one twice or exchanges two fails") {
    const char* const variant = "1 to 1, unbounded, threads";
    CHECK(failure_of(variant, [](auto& items) { items[50] += std::uint64_t{1} << 32U; })
          == "items were lost or came out twice");
    CHECK(failure_of(variant, [](auto& items) { items[50] = items[49]; })
          == "a producer's items came out of order");
    CHECK(failure_of(variant, [](auto& items) { std::swap(items[50], items[51]); })
          == "a producer's items came out of order");
}

// The logic of the Kafka worker with lanes in real threads.
#include <ekiden/kafka/detail/worker_core.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace core = ekiden::kafka::detail;

namespace {

constexpr std::int64_t count = 30'000;
constexpr unsigned threads = 3;

/// Each thread is the lane of some keys. The test answers the calls.
class threaded_link : public core::broker_link {
public:
    void load(std::int32_t, std::uint64_t epoch) override { loaded = epoch; }
    void start(std::span<core::held_record* const> ready) override {
        for (core::held_record* const r : ready) {
            lane& mine = lanes[std::stoul(std::string(r->key)) % threads];
            const std::scoped_lock hold(mine.lock);
            mine.queue.push_back(r);
            mine.changed.notify_one();
        }
    }
    void release(void*) noexcept override { ++released; }
    void commit(core::commit_batch& of) override { batch = &of; }
    void repeat(core::commit_batch&) override {}
    void abort(core::commit_batch&) override {}
    void renew_producer() override {}
    void unassign(std::span<const std::int32_t>) override { is_unassigned = true; }
    void wake() noexcept override {}

    /// Runs the functions of one thread until end() is called.
    void run(unsigned i, core::worker_core& worker) {
        std::map<std::string, std::int64_t> last;
        for (lane& mine = lanes[i];;) {
            std::unique_lock hold(mine.lock);
            mine.changed.wait(hold, [&] { return mine.ends || !mine.queue.empty(); });
            if (mine.queue.empty()) return;
            core::held_record& r = *mine.queue.front();
            mine.queue.pop_front();
            hold.unlock();
            if (!worker.begin(r)) continue;
            std::int64_t& before = last.try_emplace(std::string(r.key), r.id.offset).first->second;
            // In later assignments, records that were not committed come again.
            if (r.request().generation == 1 && r.id.offset < before) is_ordered = false;
            before = r.id.offset;
            if (r.id.offset % 997 == 5 && r.attempt < 3)
                worker.ended(r, "no");
            else
                worker.ended(r, ekiden::records::reply());
        }
    }
    void end() {
        for (lane& one : lanes) {
            const std::scoped_lock hold(one.lock);
            one.ends = true;
            one.changed.notify_one();
        }
    }

    std::uint64_t loaded = 0;
    core::commit_batch* batch = nullptr;
    bool is_unassigned = false;
    std::size_t released = 0;
    std::atomic<bool> is_ordered{true};

private:
    struct lane {
        std::mutex lock;
        std::condition_variable changed;
        std::deque<core::held_record*> queue;
        bool ends = false;
    };
    std::array<lane, threads> lanes;
};

core::core_options chosen_options() {
    core::core_options chosen;
    chosen.topic = "in";
    chosen.is_transactional = false;
    chosen.commit_every = std::chrono::milliseconds(1);
    chosen.retry.delay = std::chrono::milliseconds(1);
    chosen.limits.held = 300;
    return chosen;
}

/// The polling thread: fetches, commits, and lets the partition come and go.
class poller {
public:
    poller(core::worker_core& of, threaded_link& l) : worker(of), link(l) {
        for (unsigned i = 0; i != 50; ++i) keys.push_back(std::to_string(i));
        worker.start();
        worker.producer_ready({});
        assign();
    }
    void assign() {
        worker.assigned(std::make_shared<int>(1), generation, std::vector<std::int32_t>{0});
        worker.loaded({0, link.loaded, committed, metadata, {}});
        next = committed;
    }
    void step() {
        const auto left = static_cast<std::size_t>(count - next);
        std::vector<core::fetched_record> batch(std::min({worker.room(0), std::size_t{100}, left}));
        for (core::fetched_record& one : batch) {
            one.offset = next++;
            one.key = keys[static_cast<std::size_t>(one.offset) % keys.size()];
        }
        given += batch.size();
        worker.arrived(0, batch);
        worker.tick(ekiden::sys::clock::now());
        if (core::commit_batch* const done = std::exchange(link.batch, nullptr)) {
            committed = done->parts.at(0).offset;
            metadata = done->parts.at(0).metadata;
            worker.commit_ended(done->number, {});
        }
        if (generation < 6 && next > generation * count / 6) {
            const std::vector<std::int32_t> all{0};
            if (++generation % 2 == 0)
                worker.revoked(std::make_shared<int>(2), generation, all);
            else
                worker.lost(all);
        }
        if (std::exchange(link.is_unassigned, false)) assign();
    }

    core::worker_core& worker;
    threaded_link& link;
    std::vector<std::string> keys;
    std::int64_t next = 0;
    std::int64_t committed = 0;
    std::string metadata;
    std::size_t given = 0;
    std::int32_t generation = 1;
};

} // namespace

TEST_CASE("functions in several threads, while partitions come and go, run in the order of their keys") {
    threaded_link link;
    core::worker_core worker(chosen_options(), link);
    std::vector<std::thread> running;
    for (unsigned i = 0; i != threads; ++i) running.emplace_back([&, i] { link.run(i, worker); });
    poller polls(worker, link);
    while (polls.committed != count) polls.step();
    while (worker.in_lanes() != 0) worker.tick(ekiden::sys::clock::now());
    link.end();
    for (std::thread& t : running) t.join();
    worker.tick(ekiden::sys::clock::now());
    CHECK(link.is_ordered);
    CHECK(polls.generation == 6);
    CHECK(link.released == polls.given);
}

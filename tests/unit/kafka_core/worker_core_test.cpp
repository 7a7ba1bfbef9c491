// The logic of the Kafka worker step by step.
#include <ekiden/kafka/detail/worker_core.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace core = ekiden::kafka::detail;

namespace {

/// Lanes without threads: the test takes the records. It answers the calls itself.
struct fake_link : core::broker_link {
    void load(std::int32_t partition, std::uint64_t epoch) override { loads.emplace_back(partition, epoch); }
    void start(std::span<core::held_record* const> ready) override {
        started.insert(started.end(), ready.begin(), ready.end());
    }
    void release(void*) noexcept override { ++released; }
    void commit(core::commit_batch& batch) override { batches.push_back(&batch); }
    void repeat(core::commit_batch&) override { ++repeats; }
    void abort(core::commit_batch&) override { ++aborts; }
    void renew_producer() override { ++producers; }
    void unassign(std::span<const std::int32_t> partitions) override {
        unassigned.insert(unassigned.end(), partitions.begin(), partitions.end());
    }
    void wake() noexcept override { ++wakes; }

    std::vector<std::pair<std::int32_t, std::uint64_t>> loads;
    std::deque<core::held_record*> started;
    std::vector<core::commit_batch*> batches;
    std::vector<std::int32_t> unassigned;
    std::size_t released = 0;
    unsigned repeats = 0;
    unsigned aborts = 0;
    unsigned producers = 0;
    std::atomic<unsigned> wakes{0};
};

core::call_result result(core::outcome what) {
    core::call_result made;
    made.what = what;
    return made;
}

core::core_options plain(bool is_transactional = true) {
    core::core_options chosen;
    chosen.topic = "in";
    chosen.id = "the worker";
    chosen.is_transactional = is_transactional;
    return chosen;
}

/// A core with one partition, which is running.
struct one_partition {
    explicit one_partition(core::core_options chosen = plain()) : worker(std::move(chosen), link) {
        now += 1s;
        worker.start();
        worker.producer_ready({});
        worker.tick(now);
        worker.assigned(std::make_shared<int>(1), 1, std::vector<std::int32_t>{0});
        worker.loaded({0, link.loads.back().second, 0, "", {}});
    }
    ~one_partition() {
        worker.lost(std::vector<std::int32_t>{0});
        for (core::held_record* const r : link.started)
            if (worker.begin(*r)) worker.ended(*r, ekiden::records::reply());
        worker.tick(now);
    }
    void arrive(std::int64_t first, std::int64_t last, std::string_view key = "k") {
        std::vector<core::fetched_record> batch;
        for (std::int64_t offset = first; offset <= last; ++offset) {
            batch.emplace_back().offset = offset;
            batch.back().key = key;
        }
        worker.arrived(0, batch);
    }
    core::held_record& begin() {
        core::held_record& r = *link.started.front();
        link.started.pop_front();
        REQUIRE(worker.begin(r));
        return r;
    }
    void finish(core::held_record& r, const char* output = "") {
        ekiden::records::reply reply;
        if (*output != 0) reply.post("out", "k", output);
        worker.ended(r, std::move(reply));
    }
    void tick(std::chrono::milliseconds length = 200ms) { worker.tick(now += length); }
    core::commit_batch& batch() {
        REQUIRE(!link.batches.empty());
        return *link.batches.back();
    }

    fake_link link;
    core::worker_core worker;
    ekiden::sys::clock::time_point now{};
};

} // namespace

TEST_CASE("after an abort the outputs belong to the next transaction, and the function does not run again") {
    one_partition one;
    one.arrive(0, 0);
    one.finish(one.begin(), "a");
    one.tick();
    const std::uint64_t first = one.batch().number;
    CHECK(one.batch().parts.at(0).carried.at(0)->outputs.at(0).value == "a");
    one.worker.commit_ended(first, result(core::outcome::abortable));
    CHECK(one.link.aborts == 1);
    one.worker.abort_ended(first, {});
    one.tick();
    REQUIRE(one.batch().number != first);
    CHECK(one.batch().parts.at(0).carried.at(0)->outputs.at(0).value == "a");
    CHECK(one.batch().parts.at(0).offset == 1);
    CHECK(one.link.started.empty());
    one.worker.commit_ended(one.batch().number, {});
    CHECK(one.link.released == 1);
}

TEST_CASE(
    "a retriable call is repeated until the limit, then a new producer and the committed offset decide") {
    one_partition one;
    one.arrive(0, 1);
    one.finish(one.begin(), "a");
    one.tick();
    const std::uint64_t number = one.batch().number;
    unsigned rounds = 0;
    while (one.link.producers == 1 && ++rounds < 1000) {
        one.worker.commit_ended(number, result(core::outcome::retriable));
        one.tick();
    }
    CHECK(one.link.repeats >= 9);
    CHECK(one.link.producers == 2);
    CHECK(one.link.batches.size() == 1);
    one.worker.producer_ready(result(core::outcome::retriable)); // is repeated, too
    one.tick();
    CHECK(one.link.producers == 3);
    one.worker.producer_ready({});
    REQUIRE(one.link.loads.size() == 2);
    SUBCASE("it was committed") {
        one.worker.loaded({0, one.link.loads[1].second, 1, "", {}});
        one.tick();
        CHECK(one.link.released == 1);
        for (const core::commit_part& part : one.batch().parts) CHECK(part.carried.empty());
    }
    SUBCASE("it was not") {
        one.worker.loaded({0, one.link.loads[1].second, 0, "", {}});
        one.tick();
        CHECK(one.batch().number != number);
        CHECK(one.batch().parts.at(0).carried.at(0)->outputs.at(0).value == "a");
    }
    SUBCASE("a foreign program has written there") {
        one.worker.loaded({0, one.link.loads[1].second, 0, "foreign", {}});
        one.tick();
        CHECK(one.link.batches.size() == 1);
        CHECK(one.worker.room(0) == 0);
    }
    SUBCASE("the partition is lost meanwhile") {
        one.worker.lost(std::vector<std::int32_t>{0});
        CHECK(one.link.unassigned == std::vector<std::int32_t>{0});
        one.tick();
        CHECK(one.link.batches.size() == 1);
    }
}

TEST_CASE("after a commit that was repeated inside the client, a new producer comes before the next one") {
    one_partition one;
    one.arrive(0, 1);
    one.finish(one.begin());
    one.tick();
    core::call_result late;
    late.wants_new_producer = true;
    one.worker.commit_ended(one.batch().number, late);
    CHECK(one.link.producers == 2);
    one.finish(one.begin());
    one.tick();
    CHECK(one.link.batches.size() == 1);
    one.worker.producer_ready({});
    one.tick();
    CHECK(one.link.batches.size() == 2);
}

TEST_CASE("a worker that is fenced ends with an error that names its id, and commits no more") {
    one_partition one;
    one.arrive(0, 1);
    one.finish(one.begin());
    one.tick();
    one.worker.commit_ended(one.batch().number, result(core::outcome::fenced));
    REQUIRE(one.worker.failure());
    CHECK(one.worker.failure()->find("the worker") != std::string::npos);
    CHECK(one.worker.room(0) == 0);
    one.finish(one.begin());
    one.tick();
    CHECK(one.link.batches.size() == 1);
}

TEST_CASE("a revocation asks functions to stop, waits for them, and commits before the partition goes") {
    one_partition one;
    one.arrive(0, 2);
    one.arrive(3, 3, "other");
    core::held_record& r = one.begin();
    one.worker.revoked(std::make_shared<int>(2), 2, std::vector<std::int32_t>{0});
    CHECK(r.request().given_up.stop_requested());
    CHECK(one.worker.room(0) == 0);
    one.tick(0ms);
    CHECK(one.link.unassigned.empty());
    SUBCASE("the function ends in time") {
        one.finish(r, "a");
        one.tick(0ms);
        CHECK(one.batch().parts.at(0).offset == 1);
        CHECK(one.batch().is_last);
        CHECK(one.link.unassigned.empty());
        one.worker.commit_ended(one.batch().number, {});
        CHECK(one.link.unassigned.size() == 1);
    }
    SUBCASE("the function does not end") {
        one.tick(plain().revoke_limit - 1ms);
        CHECK(one.link.unassigned.empty());
        one.tick(1ms);
        CHECK(one.link.unassigned.size() == 1);
        one.finish(r, "a");
        one.tick();
        CHECK(one.link.batches.empty());
    }
    SUBCASE("the partition is lost meanwhile") {
        one.worker.lost(std::vector<std::int32_t>{0});
        CHECK(one.link.unassigned.size() == 1);
        one.finish(r, "a");
        one.tick();
        CHECK(one.link.batches.empty());
    }
    // The other records come back from their lanes, and do not run.
    while (!one.link.started.empty()) {
        CHECK_FALSE(one.worker.begin(*one.link.started.front()));
        one.link.started.pop_front();
    }
    one.tick();
    CHECK(one.worker.in_lanes() == 0);
    CHECK(one.link.released == 4);
}

TEST_CASE("a partition is not given back while a commit that names it is in progress, also if it is lost") {
    one_partition one;
    one.arrive(0, 0);
    one.finish(one.begin(), "a");
    one.tick();
    one.worker.lost(std::vector<std::int32_t>{0});
    CHECK(one.batch().is_void.load());
    one.tick();
    CHECK(one.link.unassigned.empty());
    one.worker.commit_ended(one.batch().number, result(core::outcome::abortable));
    CHECK(one.link.unassigned.empty());
    one.worker.abort_ended(one.batch().number, {});
    CHECK(one.link.unassigned.size() == 1);
    CHECK(one.link.released == 1);
}

TEST_CASE("answers for a batch that has ended, and for an older assignment, have no effect") {
    one_partition one;
    const std::uint64_t epoch = one.link.loads.back().second;
    one.arrive(0, 1);
    one.finish(one.begin(), "a");
    one.tick();
    const std::uint64_t number = one.batch().number;
    one.worker.commit_ended(number, {});
    one.worker.commit_ended(number, result(core::outcome::fenced));
    one.worker.abort_ended(number, result(core::outcome::fenced));
    one.worker.producer_ready(result(core::outcome::fenced));
    one.worker.loaded({0, epoch, 55, "", {}});
    one.worker.loaded({0, epoch + 1, 55, "foreign", {}});
    one.worker.load_failed(0, epoch + 1, result(core::outcome::fatal));
    CHECK_FALSE(one.worker.failure());
    CHECK(one.worker.room(0) == 999);
}

TEST_CASE("a function that throws is retried with longer and longer delays while its key waits") {
    core::core_options chosen = plain();
    chosen.retry.delay = 100ms;
    chosen.retry.longest_delay = 300ms;
    one_partition one(chosen);
    one.arrive(0, 2);
    one.arrive(3, 3, "other");
    for (const std::chrono::milliseconds delay : {100ms, 200ms, 300ms, 300ms}) {
        one.worker.ended(one.begin(), "no");
        while (!one.link.started.empty()) { // those of the key wait, the other one runs
            core::held_record& r = *one.link.started.front();
            one.link.started.pop_front();
            if (one.worker.begin(r)) {
                CHECK(r.key == "other");
                one.finish(r);
            }
        }
        one.tick(0ms);
        CHECK(one.link.started.empty());
        one.tick(delay - 1ms);
        CHECK(one.link.started.empty());
        one.tick(1ms);
        CHECK(one.link.started.size() == 1);
    }
    CHECK(one.worker.metrics().retries == 4); // also while no record of the key is done
    for (std::int64_t offset = 0; offset != 3; ++offset) {
        core::held_record& r = one.begin();
        CHECK(r.id.offset == offset);
        CHECK(r.attempt == (offset == 0 ? 5 : 1));
        one.finish(r);
        one.tick(0ms);
    }
}

TEST_CASE("records of a parked key are dead letters with headers, and a later worker knows the key") {
    core::core_options chosen = plain();
    chosen.retry.attempts = 1;
    chosen.retry.then = ekiden::records::on_failure::park_key;
    chosen.retry.dead_letters = "dead";
    one_partition one(chosen);
    one.arrive(0, 1);
    one.worker.ended(one.begin(), "no");
    core::held_record& second = *one.link.started.front();
    one.link.started.pop_front();
    CHECK_FALSE(one.worker.begin(second));
    one.tick();
    const auto& carried = one.batch().parts.at(0).carried;
    REQUIRE(carried.size() == 2);
    REQUIRE(carried[0]->outputs.size() == 2);
    CHECK(carried[0]->outputs[0].topic == "dead");
    CHECK(*ekiden::records::find(carried[0]->outputs[0].with, "ekiden-error") == "no");
    CHECK(*ekiden::records::find(carried[0]->outputs[0].with, "ekiden-attempts") == "1");
    CHECK(*ekiden::records::find(carried[1]->outputs[0].with, "ekiden-offset") == "1");
    CHECK(carried[0]->outputs[1].topic == "dead.parked");
    CHECK(core::read_parked_key(carried[0]->outputs[1].key)->key == "k");
    CHECK(carried[1]->outputs.size() == 1);
    one.worker.commit_ended(one.batch().number, {});

    one_partition next(chosen);
    next.worker.assigned(std::make_shared<int>(1), 2, std::vector<std::int32_t>{1});
    next.worker.loaded({1, next.link.loads.back().second, 2, "", {"k"}});
    std::vector<core::fetched_record> batch(1);
    batch[0].offset = 2;
    batch[0].key = "k";
    next.worker.arrived(1, batch);
    CHECK_FALSE(next.worker.begin(*next.link.started.front()));
    next.link.started.clear();
    next.tick();
    CHECK(next.worker.metrics().dead_letters == 1);
}

TEST_CASE("without transactions, outputs that all brokers have are not sent again") {
    one_partition one(plain(false));
    one.arrive(0, 1);
    one.finish(one.begin(), "a");
    one.tick();
    core::call_result failed = result(core::outcome::abortable);
    failed.outputs_sent = true;
    one.worker.commit_ended(one.batch().number, failed);
    CHECK(one.link.aborts == 0);
    one.tick();
    REQUIRE(one.link.batches.size() == 2);
    CHECK(one.batch().parts.at(0).offset == 1);
    CHECK(one.batch().parts.at(0).carried.empty());
}

TEST_CASE("headers, and outputs that wait for a commit, count as memory, and are committed early") {
    core::core_options chosen = plain();
    chosen.limits.held_bytes = 1'000;
    chosen.commit_every = 60s;
    one_partition one(chosen);
    std::vector<core::fetched_record> batch(1);
    batch[0].offset = 0;
    batch[0].with = {{"name", std::string(300, 'x')}};
    one.worker.arrived(0, batch);
    CHECK(one.worker.room(0) > 0);
    one.finish(one.begin(), std::string(500, 'x').c_str());
    one.tick();
    CHECK(one.worker.metrics().partitions.at(0).held_bytes > 800);
    CHECK(one.link.batches.empty()); // The next commit is due after a minute.
    one.arrive(1, 1);
    one.finish(one.begin(), std::string(500, 'x').c_str());
    one.tick();
    CHECK(one.worker.room(0) == 0);
    REQUIRE(one.link.batches.size() == 1);
    one.worker.commit_ended(one.batch().number, {});
    one.tick();
    CHECK(one.worker.room(0) > 0);
    CHECK(one.worker.metrics().partitions.at(0).held_bytes == 0);
}

TEST_CASE("the text of an error is cut, so that a dead letter has room for it") {
    core::core_options chosen = plain();
    chosen.retry.attempts = 1;
    chosen.retry.then = ekiden::records::on_failure::dead_letter;
    chosen.retry.dead_letters = "dead";
    one_partition one(chosen);
    one.arrive(0, 0);
    one.worker.ended(one.begin(), std::string(2'000'000, 'e'));
    one.tick();
    const auto& outputs = one.batch().parts.at(0).carried.at(0)->outputs;
    CHECK(ekiden::records::find(outputs.at(0).with, "ekiden-error")->size() == 1'000);
    one.worker.commit_ended(one.batch().number, {});
}

TEST_CASE("after a million failures without a delay, the next one takes no longer than the first") {
    core::core_options chosen = plain();
    chosen.retry.delay = 0ms;
    one_partition one(chosen);
    one.arrive(0, 0);
    one.worker.ended(one.begin(), "no");
    one.tick(1ms);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i != 1000; ++i) {
        core::held_record& r = one.begin();
        r.attempt = 1'000'000;
        one.worker.ended(r, "no");
        one.tick(1ms);
    }
    CHECK(std::chrono::steady_clock::now() - begin < 500ms);
}

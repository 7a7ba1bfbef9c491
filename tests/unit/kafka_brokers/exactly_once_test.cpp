// With real brokers: what readers of committed records see after failures of workers. The numbers are those
// of the rules in the page src/ekiden/kafka/detail/worker.md.
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <tests/unit/kafka_brokers/real_brokers.hpp>
#include <tests/unit/kafka_workers/running_worker.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace {

namespace kafka = ekiden::kafka;
using namespace std::chrono_literals;
using ekiden_test::eventually;
using ekiden_test::new_topic;
using ekiden_test::read_topic;
using ekiden_test::real_brokers;
using ekiden_test::running_worker;
using ekiden_test::seen_records;
using ekiden_test::stored;
using ekiden_test::worker_process;

constexpr int partitions = 3;
constexpr int keys = 50;

struct topics {
    std::string in = new_topic("in", partitions);
    std::string out = new_topic("out", partitions);
    std::string group = in;
};

void fill(const std::string& topic, int from, int count) {
    const kafka::poster to(real_brokers(), {.topic = topic, .policy = ekiden::when_full::block});
    for (int i = from; i < from + count; ++i)
        for (int k = 0; k < keys; ++k) REQUIRE(to.post("k" + std::to_string(k), std::to_string(i)));
    REQUIRE(to.flush(60s));
}

std::unique_ptr<worker_process> start(const topics& of, const std::string& name, int session = 3'000,
                                      int transaction = 3'000, int work_us = 0) {
    return std::make_unique<worker_process>(std::vector<std::string>{
        real_brokers().brokers, of.group, of.in, of.out, name, "once", std::to_string(session),
        std::to_string(transaction), std::to_string(work_us)});
}

/// Waits until all inputs have an output. Checks that each key has the outputs 0, 1, 2, ... once, in this
/// order.
void check_outputs(const topics& of, int count) {
    std::vector<stored> found;
    CHECK(eventually(
        [&] {
            found = read_topic(real_brokers().brokers, of.out.c_str(), partitions);
            return found.size() >= static_cast<std::size_t>(keys * count);
        },
        120s));
    std::map<std::string, int> next;
    int wrong = 0;
    for (const stored& one : found)
        wrong += static_cast<int>(std::stoi(one.value.value()) != next[one.key.value()]++);
    CHECK(wrong == 0);
    CHECK(found.size() == static_cast<std::size_t>(keys * count));
}

kafka::worker_options in_process(const topics& of) {
    kafka::worker_options chosen{.group = of.group, .topic = of.in, .name = "one"};
    chosen.session = 3'000ms;
    chosen.transaction_limit = 3'000ms;
    return chosen;
}

bool is_idle(const kafka::worker_metrics& now) {
    return now.partitions.size() == partitions
           && std::ranges::all_of(now.partitions, [](const auto& p) { return p.lag == 0 && p.held == 0; });
}

} // namespace

TEST_CASE("kafka, rules 13 and 15: each output is seen once, the lag reaches 0, and the next worker repeats "
          "nothing") {
    const topics of;
    fill(of.in, 0, 20);
    ekiden::thread_pool pool(4);
    seen_records seen;
    const auto copy = [&](const kafka::request& r, kafka::reply& out) {
        seen.add(r);
        out.post(of.out, std::string(r.key), std::string(r.value), r.with);
    };
    {
        running_worker worker(real_brokers(), pool, in_process(of), copy);
        CHECK(eventually([&] { return seen.count() == keys * 20 && is_idle(worker.metrics()); }));
        CHECK(worker->close(30s));
        CHECK(worker.metrics().aborts == 0);
    }
    check_outputs(of, 20);
    // The topic `out` has a marker behind each transaction, so it has holes up to its end.
    {
        topics next = of;
        next.in = of.out;
        next.out = new_topic("third", partitions);
        next.group = next.out;
        seen_records third;
        running_worker worker(real_brokers(), pool, in_process(next),
                              [&](const kafka::request& r, kafka::reply&) { third.add(r); });
        CHECK(eventually([&] { return third.count() == keys * 20 && is_idle(worker.metrics()); }));
        CHECK(third.violations() == 0);
    }
    fill(of.in, 20, 1);
    const auto begin = std::chrono::steady_clock::now();
    running_worker again(real_brokers(), pool, in_process(of), copy);
    CHECK(eventually([&] { return seen.count() == keys * 21; }));
    MESSAGE("the next worker had all after ",
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), " s");
    CHECK(seen.repeats() == 0);
    CHECK(seen.violations() == 0);
    CHECK(again->close(30s));
}

TEST_CASE(
    "kafka, rules 5 and 19: after kill -9 each output is seen once, and a restart reads within its time") {
    const topics of;
    fill(of.in, 0, 100);
    for (const std::size_t after : {1, 100, 700, 1'500}) {
        const auto worker = start(of, "one", 3'000, 3'000, 1'000);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(eventually([&] { return worker->begun() >= 1; }));
        const double heir = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        CHECK(heir < 3 + 1 + 1.5); // session, 1 s, and the start of a process on a busy machine
        MESSAGE("the worker began after ", heir, " s");
        CHECK(eventually([&] { return worker->begun() >= after; }));
        worker->signal(SIGKILL);
    }
    const auto last = start(of, "one");
    check_outputs(of, 100);
    last->signal(SIGTERM);
    last->wait();
    CHECK(eventually([&] { return last->end() == "ended cleanly 1\n"; }));
}

TEST_CASE("kafka, rules 1, 3 and 6: a worker that was stopped makes nothing visible after its session") {
    const topics of;
    fill(of.in, 0, 60);
    const auto zombie = start(of, "zombie", 3'000, 3'000, 2'000);
    CHECK(eventually([&] { return zombie->begun() >= 100; }));
    zombie->signal(SIGSTOP);
    const auto heir = start(of, "heir", 3'000, 3'000);
    std::this_thread::sleep_for(8s); // longer than session, transaction and the broker's scan
    zombie->signal(SIGCONT);
    check_outputs(of, 60);
    fill(of.in, 60, 20); // the zombie has joined again, or has ended
    check_outputs(of, 80);
}

TEST_CASE("kafka, rule 7: a second worker of the same name fences the first one, which ends with the name") {
    const topics of;
    ekiden::thread_pool pool(2);
    const auto copy = [&](const kafka::request& r, kafka::reply& out) {
        out.post(of.out, std::string(r.key), std::string(r.value));
    };
    fill(of.in, 0, 1);
    running_worker first(real_brokers(), pool, in_process(of), copy);
    CHECK(eventually([&] { return first.metrics().commits > 0; }));
    running_worker second(real_brokers(), pool, in_process(of), copy);
    int next = 1;
    CHECK(eventually([&] { // both get records, until the first commits
        fill(of.in, next++, 1);
        return first.has_ended();
    }));
    CHECK(first.kind() == kafka::error_kind::fenced);
    CHECK(first.failure().find(of.group + ".one") != std::string::npos);
    CHECK(first.metrics().fenced > 0);
    check_outputs(of, next);
    CHECK(!second.has_ended());
    CHECK(second->close(30s));
}

TEST_CASE("kafka, rule 12: a partition with unknown metadata is neither skipped nor repeated") {
    const topics of;
    fill(of.in, 0, 4);
    for (int p = 0; p < partitions; ++p)
        ekiden_test::write_committed(of.group, of.in, p, {1, "metadata of another program"});
    ekiden::thread_pool pool(2);
    std::atomic<int> calls{0};
    {
        running_worker worker(real_brokers(), pool, in_process(of),
                              [&](const kafka::request&, kafka::reply&) { ++calls; });
        CHECK(eventually([&] { return worker.metrics().partitions.size() == partitions; }));
        std::this_thread::sleep_for(2s);
        const auto now = worker.metrics();
        CHECK(std::ranges::all_of(
            now.partitions, [](const auto& p) { return p.paused == ekiden::records::pause_reason::state; }));
    }
    CHECK(calls == 0);
    for (int p = 0; p < partitions; ++p) {
        const auto found = ekiden_test::read_committed(of.group, of.in, p);
        CHECK(found.offset == 1);
        CHECK(found.metadata == "metadata of another program");
    }
}

TEST_CASE("kafka, rule 14: after the topic has grown, poster and worker refuse to continue") {
    const topics of;
    ekiden::thread_pool pool(2);
    auto where = real_brokers();
    where.more = {{"topic.metadata.refresh.interval.ms", "500"}};
    const kafka::poster to(where, {.topic = of.in});
    CHECK(to.submit("a", "0").get().offset == 0);
    running_worker worker(where, pool, in_process(of), [](const kafka::request&, kafka::reply&) {});
    CHECK(eventually([&] { return worker.metrics().done == 1; }));
    ekiden_test::grow_topic(of.in, partitions + 2);
    std::map<std::string, std::int32_t> place;
    CHECK(eventually([&] {
        for (int k = 0; k < 20; ++k) {
            auto sent = to.submit(std::to_string(k), "1");
            try {
                const auto at = sent.get();
                CHECK(place.try_emplace(std::to_string(k), at.partition).first->second == at.partition);
            } catch (const kafka::error& e) {
                CHECK(e.kind() == kafka::error_kind::abortable);
                return true;
            }
        }
        return false;
    }));
    CHECK(!to.post("a", "2"));
    CHECK(to.metrics().has_grown);
    CHECK(eventually([&] { return worker.has_ended(); }));
    CHECK(worker.kind() == kafka::error_kind::fatal);
    CHECK(worker.failure().find("partitions") != std::string::npos);
}

TEST_CASE("kafka, rules 8 and 18: a broker that stops during commits leaves no doubt behind") {
    const char* const folder = std::getenv("KAFKA_DIR");
    REQUIRE(folder != nullptr);
    const std::string script = std::string(EKIDEN_KAFKA_SCRIPT) + " ";
    const topics of;
    fill(of.in, 0, 100);
    ekiden::thread_pool pool(4);
    seen_records seen;
    auto where = real_brokers();
    where.more = {{"socket.timeout.ms", "1000"}};
    kafka::worker_options chosen = in_process(of);
    chosen.session = 10'000ms;
    chosen.commit_every = 20ms;
    // With 10 s, the transactions survive. With 1 s, the broker aborts them and refuses their producer.
    SUBCASE("transactions survive") { chosen.transaction_limit = 10'000ms; }
    SUBCASE("transactions are too old") { chosen.transaction_limit = 1'000ms; }
    running_worker worker(where, pool, chosen, [&](const kafka::request& r, kafka::reply& out) {
        std::this_thread::sleep_for(2ms);
        seen.add(r);
        out.post(of.out, std::string(r.key), std::string(r.value));
    });
    for (int i = 0; i < 3; ++i) {
        CHECK(eventually([&] { return seen.count() >= keys * (20 + 25 * i); }));
        REQUIRE(std::system((script + "pause " + folder + " 1").c_str()) == 0);
        std::this_thread::sleep_for(2'500ms);
        REQUIRE(std::system((script + "continue " + folder + " 1").c_str()) == 0);
    }
    check_outputs(of, 100);
    CHECK(eventually([&] { return is_idle(worker.metrics()); }));
    const auto now = worker.metrics();
    MESSAGE("new producers: ", now.reconnects, ", aborts: ", now.aborts, ", commits: ", now.commits);
    CHECK(now.reconnects > 0);
    CHECK(seen.violations() == 0);
    CHECK(worker->close(30s));
}

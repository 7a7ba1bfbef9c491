#include <ekiden/async.hpp>
#include <ekiden/execution/system_executor.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/kafka.hpp>
#include <ekiden/kafka/detail/posting.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace {

namespace kafka = ekiden::kafka;
using namespace std::chrono_literals;
using ekiden_test::api;
using ekiden_test::mock_cluster;
using ekiden_test::stored;

/// murmur2 as Java's producer computes it, written from Austin Appleby's description.
std::uint32_t java_murmur2(std::string_view text) {
    constexpr std::uint32_t m = 0x5bd1e995;
    const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(text[at])}; };
    std::uint32_t h = 0x9747b28c ^ static_cast<std::uint32_t>(text.size());
    std::size_t at = 0;
    for (; at + 4 <= text.size(); at += 4) {
        std::uint32_t k = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h = h * m ^ k;
    }
    const std::size_t rest = text.size() - at;
    if (rest == 3) h ^= byte(at + 2) << 16;
    if (rest >= 2) h ^= byte(at + 1) << 8;
    if (rest >= 1) h = (h ^ byte(at)) * m;
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}
std::int32_t java_partition(std::string_view key, std::uint32_t partitions) {
    return static_cast<std::int32_t>((java_murmur2(key) & 0x7fff'ffffU) % partitions);
}

/// Runs functions in the thread that posts them, so a continuation runs in the thread of the poster.
struct in_place_executor {
    [[nodiscard]] ekiden::execution_context& context() const { return ekiden::system_executor().context(); }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    void dispatch(auto f, const auto&) const { f(); }
    void post(auto f, const auto&) const { f(); }
    void defer(auto f, const auto&) const { f(); }
    friend bool operator==(const in_place_executor&, const in_place_executor&) noexcept { return true; }
};

kafka::error_kind kind_of_failure(ekiden::future<kafka::position>& sent) {
    try {
        static_cast<void>(sent.get());
    } catch (const kafka::error& e) {
        MESSAGE(std::string(e.what()));
        return e.kind();
    }
    FAIL("the record was delivered");
    return {};
}

/// Checks that each key is in one partition, and that its values appear there in the order 0, 1, 2, ...
/// `count` - 1. A value may appear again, because the mock cluster checks sequence numbers only in
/// transactions: if the answer to a request is lost, the cluster stores the repeated request a second time.
/// Real brokers do not.
void check_order(const std::vector<stored>& found, std::size_t keys, int count) {
    std::map<std::string, std::pair<std::int32_t, int>> next; // the partition and the next new value
    int wrong = 0;
    for (const stored& one : found) {
        auto& [partition, expected] = next.try_emplace(one.key.value(), one.partition, 0).first->second;
        const int value = std::stoi(one.value.value());
        wrong += static_cast<int>(value > expected || partition != one.partition);
        expected = std::max(expected, value + 1);
    }
    CHECK(wrong == 0);
    CHECK(next.size() == keys);
    CHECK(std::ranges::all_of(next, [&](const auto& one) { return one.second.second == count; }));
}

} // namespace

TEST_CASE("kafka::poster: the reference for murmur2 equals Java") {
    // From org.apache.kafka.common.utils.UtilsTest, and of librdkafka for the empty key.
    CHECK(java_murmur2("21") == static_cast<std::uint32_t>(-973932308));
    CHECK(java_murmur2("foobar") == static_cast<std::uint32_t>(-790332482));
    CHECK(java_murmur2("a-little-bit-long-string") == static_cast<std::uint32_t>(-985981536));
    CHECK(java_murmur2("a-little-bit-longer-string") == static_cast<std::uint32_t>(-1486304829));
    CHECK(java_murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8")
          == static_cast<std::uint32_t>(-58897971));
    CHECK(java_murmur2("abc") == 479470107U);
    CHECK(java_murmur2("") == 0x106e08d9U);
}

TEST_CASE("kafka::poster: each key goes to the partition that Java chooses, also the empty key") {
    mock_cluster brokers;
    brokers.create("some", 7);
    {
        const kafka::poster to(brokers.where(), {.topic = "some"});
        REQUIRE(to.post("", "0"));
        std::string key;
        for (int i = 0; i < 1'000; ++i) {
            key = i % 2 == 0 ? std::to_string(i * 7919) : key.substr(0, 40) + static_cast<char>(i % 256);
            REQUIRE(to.post(key, std::to_string(i)));
        }
        REQUIRE(to.flush(30s));
        CHECK(to.metrics().partitions == 7);
    }
    const auto found = brokers.read("some", 7);
    CHECK(found.size() == 1'001);
    for (const stored& one : found) CHECK(one.partition == java_partition(one.key.value(), 7));
}

TEST_CASE("kafka::poster: a record is stored as it was posted, at the place that the future tells") {
    mock_cluster brokers;
    brokers.create("some", 3);
    const kafka::poster to(brokers.where(), {.topic = "some"});
    const std::string binary("\0\xff\n", 3);
    const kafka::headers with{{"a", "1"}, {"a", "2"}, {"traceparent", binary}, {"empty", ""}};
    auto first = to.submit(binary, binary, with);
    auto tombstone = to.submit(binary, std::nullopt);
    auto empty = to.submit(binary, std::string_view());
    const kafka::position places[] = {first.get(), tombstone.get(), empty.get()};
    const auto found = brokers.read("some", 3);
    REQUIRE(found.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(places[i] == kafka::position{"some", found[i].partition, found[i].offset});
        CHECK(found[i].key == binary);
    }
    CHECK(found[0].value == binary);
    CHECK(found[0].with == with);
    CHECK(!found[1].value.has_value());
    CHECK(found[2].value == "");
    REQUIRE(to.flush(30s)); // a record is pending for a moment after its future is ready
    const auto now = to.metrics();
    CHECK(now.accepted == 3);
    CHECK(now.delivered == 3);
    CHECK(now.pending == 0);
    CHECK(now.pending_bytes == 0);
    CHECK(now.last_error.empty());
}

TEST_CASE("kafka::poster: the records of a key keep their order over errors, new leaders and lost brokers") {
    mock_cluster brokers(3);
    brokers.create("some", 4, 3);
    constexpr int threads = 4;
    constexpr int keys = 5;
    constexpr int count = 400;
    {
        // The mock cluster accepts the request that follows a failed one, and real brokers refuse it. So at
        // most one request is in flight here, and none while the leader changes.
        auto where = brokers.where();
        where.more = {{"max.in.flight", "1"},
                      {"reconnect.backoff.ms", "10"},
                      {"reconnect.backoff.max.ms", "50"},
                      {"retry.backoff.ms", "10"}};
        const kafka::poster to(where, {.topic = "some", .capacity = 500, .policy = ekiden::when_full::block});
        std::atomic<int> sent{0};
        std::atomic<int> failures{0};
        const auto post = [&](int thread, int from, int end) {
            std::vector<ekiden::future<kafka::position>> results;
            for (int i = from; i < end; ++i, ++sent)
                for (int k = 0; k < keys; ++k)
                    results.push_back(to.submit(std::to_string(thread * keys + k), std::to_string(i)));
            for (auto& one : results) try {
                    static_cast<void>(one.get());
                } catch (const std::exception& e) {
                    ++failures;
                    MESSAGE(e.what());
                }
        };
        const auto start = [&](int from, int end) {
            std::vector<std::jthread> posting;
            for (int t = 0; t < threads; ++t) posting.emplace_back(post, t, from, end);
            return posting;
        };
        const auto at = [&](int share) {
            CHECK(ekiden_test::eventually([&] { return sent >= threads * count * share / 10; }));
        };
        auto posting = start(0, count / 2);
        at(1);
        brokers.fail(api::produce,
                     {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
                      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR__TRANSPORT});
        posting.clear();
        for (int p = 0; p < 4; ++p) brokers.set_leader("some", p, 2);
        posting = start(count / 2, count);
        at(6);
        brokers.set_up(2, false);
        std::this_thread::sleep_for(300ms);
        brokers.set_up(2, true);
        at(8);
        brokers.fail(api::produce, RD_KAFKA_RESP_ERR__TRANSPORT, 3);
        posting.clear();
        CHECK(failures == 0);
        CHECK(to.metrics().delivered == threads * keys * count);
        CHECK(to.metrics().waited > 0);
    }
    check_order(brokers.read("some", 4), threads * keys, count);
}

TEST_CASE("kafka::poster: a record that cannot be delivered fails after its time, once") {
    mock_cluster brokers;
    brokers.create("some", 1);
    const kafka::poster to(brokers.where(), {.topic = "some", .give_up_after = 300ms});
    CHECK(to.submit("a", "0").get().offset == 0);
    brokers.set_up(1, false);
    auto lost = to.submit("a", "1");
    REQUIRE(to.post("a", "2"));
    CHECK(kind_of_failure(lost) == kafka::error_kind::retriable);
    CHECK(to.flush(10s));
    const auto now = to.metrics();
    CHECK(now.delivered == 1);
    CHECK(now.failed == 2);
    CHECK(!now.last_error.empty());
    brokers.set_up(1, true);
    CHECK(to.submit("a", "3").wait_for(10s));
}

TEST_CASE("kafka::poster: a record that a broker may have is reported as in doubt") {
    mock_cluster brokers;
    brokers.create("some", 1);
    const kafka::poster to(brokers.where(), {.topic = "some", .give_up_after = 500ms});
    CHECK(to.submit("a", "0").get().offset == 0);
    brokers.set_round_trip(1, 2'000ms);
    auto slow = to.submit("a", "1");
    try {
        static_cast<void>(slow.get());
        FAIL("the record was delivered");
    } catch (const kafka::error& e) {
        CHECK(e.is_in_doubt());
        CHECK(e.code() == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
    }
    CHECK(to.metrics().in_doubt == 1);
}

TEST_CASE("kafka::poster: an error of one record leaves the poster usable") {
    mock_cluster brokers;
    brokers.create("some", 1);
    const kafka::poster to(brokers.where(), {.topic = "some"});
    brokers.fail(api::produce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    auto refused = to.submit("a", "0");
    CHECK(kind_of_failure(refused) == kafka::error_kind::abortable);
    CHECK(to.submit("a", "1").get().offset == 0);
    CHECK_THROWS_AS(static_cast<void>(to.post("a", std::string(2'000'000, 'x'))), std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(to.post("a", "x", {{std::string("a\0b", 3), ""}})),
                    std::invalid_argument);
    CHECK(to.submit("a", "2").get().offset == 1);
    CHECK(to.flush(30s)); // a record is pending for a moment after its future is ready
    CHECK(to.metrics().pending == 0);
}

TEST_CASE("kafka::poster: after a fatal error each record is reported, and further records are refused") {
    mock_cluster brokers;
    brokers.create("some", 1);
    brokers.fail(api::init_producer_id, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, 10);
    const kafka::poster to(brokers.where(), {.topic = "some"}); // asks for its number at once
    auto failed = to.submit("a", "0");
    CHECK_THROWS_AS(static_cast<void>(failed.get()), kafka::error);
    CHECK(ekiden_test::eventually([&] { return !to.post("a", "1"); }));
    auto refused = to.submit("a", "2");
    CHECK(kind_of_failure(refused) == kafka::error_kind::fatal);
    CHECK(to.flush(10s));
    const auto now = to.metrics();
    CHECK(now.accepted == now.failed);
    CHECK(now.refused >= 2);
}

TEST_CASE("kafka::poster: a full poster rejects, by count and by bytes") {
    mock_cluster brokers;
    brokers.create("some", 1);
    brokers.set_up(1, false);
    kafka::poster few(brokers.where(), {.topic = "some", .capacity = 2});
    CHECK(few.post("a", "0"));
    CHECK(few.post("a", "1"));
    CHECK(!few.post("a", "2"));
    auto refused = few.submit("a", "3");
    CHECK_THROWS_AS(static_cast<void>(refused.get()), ekiden::operation_canceled);
    kafka::poster small(brokers.where(), {.topic = "some", .capacity_bytes = 10});
    CHECK(small.post("a", "a value of more than ten bytes")); // alone
    CHECK(!small.post("a", ""));
    kafka::poster exact(brokers.where(), {.topic = "some", .capacity_bytes = 10});
    CHECK(exact.post("a", "0123"));
    CHECK(!exact.post("a", "01234"));
    CHECK(exact.post("a", "0123"));
    CHECK(exact.metrics().pending_bytes == 10);
    CHECK(!exact.flush(1ms));
    brokers.set_up(1, true);
    for (kafka::poster* one : {&few, &small, &exact}) {
        CHECK(one->flush(30s));
        CHECK(one->post("a", "again"));
        CHECK(one->metrics().pending_bytes <= 6);
    }
}

TEST_CASE("kafka::poster: a post to a full poster waits for room, and close() ends the wait") {
    mock_cluster brokers;
    brokers.create("some", 1);
    brokers.set_up(1, false);
    kafka::poster to(brokers.where(), {.topic = "some", .capacity = 1, .policy = ekiden::when_full::block});
    REQUIRE(to.post("a", "0"));
    std::atomic<int> done{0};
    bool accepted[2] = {};
    std::thread first([&] { accepted[0] = to.post("a", "1"), ++done; });
    REQUIRE(ekiden_test::eventually([&] { return to.metrics().waited == 1; }));
    CHECK(done == 0);
    brokers.set_up(1, true);
    first.join();
    CHECK(accepted[0]);
    REQUIRE(to.flush(30s));
    brokers.set_up(1, false);
    REQUIRE(to.post("a", "2"));
    std::thread second([&] { accepted[1] = to.post("a", "3"), ++done; });
    REQUIRE(ekiden_test::eventually([&] { return to.metrics().waited == 2; }));
    CHECK(!to.close(1ms));
    second.join();
    CHECK(!accepted[1]);
    CHECK(to.metrics().failed == 1);
    CHECK(to.metrics().refused == 1);
}

TEST_CASE("kafka::poster: after close() records are refused, and the pending ones are reported") {
    mock_cluster brokers;
    brokers.create("some", 1);
    kafka::poster to(brokers.where(), {.topic = "some"});
    auto delivered = to.submit("a", "0");
    CHECK(to.close(30s));
    CHECK(delivered.is_ready());
    CHECK(delivered.get().offset == 0);
    CHECK(!to.post("a", "1"));
    auto refused = to.submit("a", "1");
    CHECK_THROWS_AS(static_cast<void>(refused.get()), ekiden::operation_canceled);
    CHECK(to.close(0s));

    brokers.set_up(1, false);
    kafka::poster cut(brokers.where(), {.topic = "some"});
    std::vector<ekiden::future<kafka::position>> pending;
    for (int i = 0; i < 100; ++i) pending.push_back(cut.submit("a", "1"));
    CHECK(!cut.close(10ms));
    for (auto& one : pending) {
        CHECK(one.is_ready());
        CHECK_THROWS_AS(static_cast<void>(one.get()), kafka::error);
    }
    CHECK(cut.metrics().failed == 100);
}

TEST_CASE("kafka::poster: the destructor waits for the records that are in flight") {
    mock_cluster brokers;
    brokers.create("some", 1);
    brokers.set_round_trip(1, 100ms);
    std::vector<ekiden::future<kafka::position>> sent;
    {
        const kafka::poster to(brokers.where(), {.topic = "some"});
        for (int i = 0; i < 1'000; ++i) sent.push_back(to.submit(std::to_string(i), "x"));
    }
    for (auto& one : sent) {
        CHECK(one.is_ready());
        CHECK(one.get().offset >= 0);
    }
}

TEST_CASE("kafka::poster: a continuation in the thread of the poster posts, and may destroy the poster") {
    mock_cluster brokers;
    brokers.create("some", 1);
    const auto caller = std::this_thread::get_id();
    bool is_elsewhere = false;
    std::size_t rounds = 0;
    // If the record is stored before the call of then(), the continuation runs in the caller.
    for (; !is_elsewhere; ++rounds) {
        auto to = std::make_unique<kafka::poster>(
            brokers.where(),
            kafka::poster_options{.topic = "some", .capacity = 1, .policy = ekiden::when_full::block});
        bool posted = false;
        bool refused_flush = false;
        to->submit("a", "0")
            .then(in_place_executor(),
                  [&](const kafka::position&) {
                      is_elsewhere = std::this_thread::get_id() != caller;
                      if (is_elsewhere) {
                          posted = to->post("a", "1") && to->post("a", "2"); // beyond the capacity
                          try {
                              static_cast<void>(to->flush(1s));
                          } catch (const std::system_error& e) {
                              refused_flush = e.code() == std::errc::resource_deadlock_would_occur;
                          }
                      }
                      to.reset();
                  })
            .get(ekiden::blocking);
        CHECK(posted == is_elsewhere);
        CHECK(refused_flush == is_elsewhere);
        CHECK(to == nullptr);
    }
    CHECK(ekiden_test::eventually([&] { return brokers.read("some", 1).size() == rounds + 2; }));
}

TEST_CASE("kafka::poster: when the number of partitions changes, records are refused and no key moves") {
    mock_cluster brokers;
    brokers.create("some", 4);
    std::optional<ekiden::promise<kafka::position>> none;
    for (const bool allow : {false, true}) {
        CAPTURE(allow);
        const auto state = std::make_shared<kafka::detail::posting>(
            brokers.where(), kafka::poster_options{.topic = "some", .allow_growth = allow});
        kafka::detail::posting::start(state);
        std::set<std::string> moved;
        for (int i = 0; i < 100; ++i) {
            const std::string key = std::to_string(i);
            const auto before = state->partition_of(key.data(), key.size(), 4);
            CHECK(before == java_partition(key, 4));
        }
        CHECK(state->send("a", "0", {}, none));
        for (int i = 0; i < 100; ++i) {
            const std::string key = std::to_string(i);
            if (state->partition_of(key.data(), key.size(), 5) != java_partition(key, 4)) moved.insert(key);
        }
        CHECK(moved.empty() == !allow);
        CHECK(state->metrics().has_grown);
        if (!allow) {
            CHECK(!state->send("a", "1", {}, none));
            CHECK_THROWS_AS(std::rethrow_exception(state->refusal()), kafka::error);
        }
        state->finish();
    }
}

TEST_CASE("kafka::poster: in the child of a fork, the destructor does not wait for threads of the parent") {
    mock_cluster brokers;
    brokers.create("some", 1);
    std::optional<kafka::poster> to(std::in_place, brokers.where(), kafka::poster_options{.topic = "some"});
    CHECK(to->submit("k", "1").get().offset == 0);
    CHECK(ekiden_test::run_in_child([&] {
              to.reset();
              std::_Exit(0); // without a search for leaks, because the object stays
          }).exit_code
          == 0);
    CHECK(to->submit("k", "2").get().offset == 1);
}

TEST_CASE("kafka::poster: without brokers a poster starts and ends") {
    std::atomic<int> lines{0};
    kafka::settings where{.brokers = "127.0.0.1:1"};
    where.log = [&](int, std::string_view) { ++lines; };
    kafka::poster to(where, {.topic = "some", .give_up_after = 200ms});
    auto never = to.submit("a", "0");
    CHECK(kind_of_failure(never) == kafka::error_kind::retriable);
    CHECK(ekiden_test::eventually([&] { return lines > 0; }));
    CHECK(!to.metrics().last_error.empty());
}

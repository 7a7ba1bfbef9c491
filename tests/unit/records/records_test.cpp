#include <ekiden/records.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace records = ekiden::records;

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_CASE("the last header with a name is found") {
    const records::headers with{{"a", "1"}, {"b", "2"}, {"a", "3"}};
    REQUIRE(records::find(with, "a") != nullptr);
    CHECK(*records::find(with, "a") == "3");
    CHECK(records::find(with, "c") == nullptr);
}

TEST_CASE("a reply gives each record once, in the order of the calls") {
    records::reply answer;
    answer.post("t", "k", "first");
    answer.post("t", "k", std::nullopt, {{"h", "v"}});
    const auto sent = answer.take();
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].value == "first");
    CHECK(!sent[1].value.has_value());
    CHECK(sent[1].with == records::headers{{"h", "v"}});
    CHECK(answer.take().empty());
}

TEST_CASE("positions are ordered by topic, partition and offset") {
    CHECK(records::position{"t", 1, 9} < records::position{"t", 2, 0});
    CHECK(records::position{"t", 1, 9} < records::position{"t", 1, 10});
    CHECK(records::position{"a", 2, 9} < records::position{"t", 1, 0});
}

TEST_CASE("the metrics of a worker name its partitions, their state, and the oldest key") {
    records::worker_metrics metrics;
    metrics.done = 7;
    records::partition_metrics one;
    one.topic = "orders";
    one.partition = 3;
    one.state = records::partition_state::revoking;
    one.paused = records::pause_reason::window;
    one.lag = 12;
    one.oldest_offset = 40;
    one.oldest_key = "a\"b";
    one.oldest_age = std::chrono::milliseconds(1500);
    metrics.partitions = {one};
    ekiden::prometheus_page page;
    records::add_metrics(page, metrics, "w1");
    const std::string text = page.text();
    CHECK(has_line(text, "ekiden_worker_records_done_total{worker=\"w1\"} 7"));
    CHECK(has_line(text, "ekiden_worker_partition_state{worker=\"w1\",topic=\"orders\",partition=\"3\","
                         "state=\"revoking\",paused=\"window\"} 1"));
    CHECK(has_line(text, "ekiden_worker_lag_records{worker=\"w1\",topic=\"orders\",partition=\"3\"} 12"));
    CHECK(has_line(text, "ekiden_worker_oldest_age_seconds{worker=\"w1\",topic=\"orders\",partition=\"3\","
                         "key=\"a\\\"b\"} 1.5"));
    CHECK(text.find("hot_key") == std::string::npos);
}

TEST_CASE("a partition without a known lag or an open record has no such metrics") {
    records::worker_metrics metrics;
    metrics.partitions.resize(1);
    ekiden::prometheus_page page;
    records::add_metrics(page, metrics, "w1");
    const std::string text = page.text();
    CHECK(text.find("ekiden_worker_lag_records{") == std::string::npos);
    CHECK(text.find("ekiden_worker_oldest_offset{") == std::string::npos);
    CHECK(text.find("ekiden_worker_held_records{") != std::string::npos);
}

} // namespace

#include <ekiden/kafka.hpp>
#include <ekiden/kafka/detail/client.hpp>

#include <tests/unit/failing_threads.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <threads.h>
#include <utility>

namespace {

namespace kafka = ekiden::kafka;

kafka::poster_options some_topic() { return {.topic = "some"}; }

/// Returns the text of the std::invalid_argument, or nothing if the poster was made.
std::string refusal(const kafka::settings& where, const kafka::poster_options& chosen = some_topic()) {
    try {
        const kafka::poster made(where, chosen);
        return {};
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
}

bool contains(const std::string& text, const char* part) { return text.find(part) != text.npos; }

} // namespace

#if !defined(EKIDEN_TSAN) // there, c11_threads.cpp calls pthread_create()
/// librdkafka starts its threads with this function.
extern "C" int thrd_create(thrd_t* thread, thrd_start_t start, void* argument) {
    using ekiden_test::threads_until_failure;
    if (threads_until_failure >= 0 && threads_until_failure-- == 0) return thrd_error;
    static const auto real = reinterpret_cast<decltype(&thrd_create)>(dlsym(RTLD_NEXT, "thrd_create"));
    return real(thread, start, argument);
}
#endif

TEST_CASE("kafka::settings: wrong brokers are refused before the first connection") {
    for (const char* brokers :
         {"", ",", "a:1,", "a b:1", ":9092", "a:", "a:x", "a:0", "a:65536", "a:123456"}) {
        CAPTURE(brokers);
        const std::string text = refusal({.brokers = brokers});
        CHECK(contains(text, "brokers is \""));
        CHECK(contains(text, "host:port"));
    }
    CHECK_FALSE(refusal({.brokers = std::string("a\0b:1", 5)}).empty());
    for (const char* brokers :
         {"localhost:1", "localhost", "[::1]:1,127.0.0.1:2", "PLAINTEXT://localhost:1"}) {
        CAPTURE(brokers);
        CHECK(refusal({.brokers = brokers}).empty());
    }
}

TEST_CASE("kafka::settings: a setting that is unknown, wrong or fixed is refused by its name") {
    struct wrong {
        const char* name;
        const char* value;
        const char* reason;
    };
    for (const auto& [name, value, reason] : {
             wrong{"no.such.setting", "1", "only a setting of librdkafka"},
             wrong{"linger.ms", "many", "another value"},
             wrong{"acks", "1", "allowed is all"},
             wrong{"request.required.acks", "1", "allowed is all"},
             wrong{"enable.idempotence", "false", "allowed is true"},
             wrong{"partitioner", "random", "murmur2_random"},
             wrong{"message.timeout.ms", "5", "give_up_after"},
             wrong{"transactional.id", "x", "no value"},
             wrong{"bootstrap.servers", "x:1", "settings::brokers"},
         }) {
        CAPTURE(name);
        const std::string text = refusal({.brokers = "localhost:1", .more = {{name, value}}});
        CHECK(contains(text, (std::string("more[\"") + name + "\"]").c_str()));
        CHECK(contains(text, value));
        CHECK(contains(text, reason));
    }
    for (const auto& one : {std::pair(std::string("acks\0", 5), std::string("all")),
                            std::pair(std::string("linger.ms"), std::string("1\0", 2))})
        CHECK(contains(refusal({.brokers = "localhost:1", .more = {one}}), "without zero bytes"));
    CHECK(refusal({.brokers = "localhost:1", .more = {{"linger.ms", "1"}}}).empty());
    // librdkafka itself refuses settings that contradict each other.
    CHECK(contains(refusal({.brokers = "localhost:1", .more = {{"max.in.flight", "100"}}}), "max.in.flight"));
}

TEST_CASE("kafka::poster_options: a wrong option is refused by its name") {
    const auto text_for = [](auto change) {
        kafka::poster_options chosen = some_topic();
        change(chosen);
        return refusal({.brokers = "localhost:1"}, chosen);
    };
    CHECK(contains(text_for([](auto& o) { o.topic.clear(); }), "topic is \"\""));
    CHECK(contains(text_for([](auto& o) { o.topic = "a b"; }), "topic is \"a b\""));
    CHECK(contains(text_for([](auto& o) { o.topic.assign(250, 'a'); }), "topic is"));
    CHECK(contains(text_for([](auto& o) { o.capacity = 0; }), "capacity is 0"));
    CHECK(contains(text_for([](auto& o) { o.capacity_bytes = 0; }), "capacity_bytes is 0"));
    CHECK(contains(text_for([](auto& o) { o.policy = ekiden::when_full::drop_oldest; }), "policy is"));
    CHECK(contains(text_for([](auto& o) { o.policy = ekiden::when_full::drop_newest; }), "block or reject"));
    CHECK(contains(text_for([](auto& o) { o.give_up_after = {}; }), "give_up_after is 0 ms"));
    CHECK(contains(text_for([](auto& o) { o.give_up_after = std::chrono::hours(1); }), "give_up_after"));
}

TEST_CASE("kafka::poster: if the system refuses a thread of librdkafka, the constructor says so") {
    ekiden_test::threads_until_failure = 0;
    CHECK_THROWS_AS(kafka::poster({.brokers = "localhost:1"}, some_topic()), std::system_error);
    ekiden_test::threads_until_failure = -1;
    CHECK(refusal({.brokers = "localhost:1"}).empty());
}

TEST_CASE("kafka::embedded_brokers: a topic that cannot exist is refused") {
    kafka::embedded_brokers brokers;
    for (const int partitions : {-1, 0, 10'001, std::numeric_limits<int>::max()})
        CHECK_THROWS_AS(brokers.create_topic("some", partitions), std::invalid_argument);
    for (const char* name : {"", "a b"})
        CHECK_THROWS_AS(brokers.create_topic(name, 1), std::invalid_argument);
    brokers.create_topic("some", 1);
    CHECK_THROWS_AS(brokers.create_topic("some", 1), kafka::error);
}

TEST_CASE("kafka::error: an error object becomes the kind that its flags say") {
    using kafka::detail::kind_of;
    CHECK(kind_of(RD_KAFKA_RESP_ERR__TIMED_OUT) == kafka::error_kind::retriable);
    CHECK(kind_of(RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION) == kafka::error_kind::abortable);
    CHECK(kind_of(RD_KAFKA_RESP_ERR__FENCED) == kafka::error_kind::fenced);
    CHECK(kind_of(RD_KAFKA_RESP_ERR__STATE) == kafka::error_kind::fatal);
    const kafka::detail::error_handle plain(rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "out of order"));
    const kafka::error made = kafka::detail::make_error("begin", *plain);
    CHECK(made.kind() == kafka::error_kind::fatal); // no flag: wrong use
    CHECK(made.code() == RD_KAFKA_RESP_ERR__STATE);
    CHECK(contains(made.what(), "begin: _STATE: out of order"));
    CHECK(std::string(kafka::to_string(kafka::error_kind::fenced)) == "fenced");
}

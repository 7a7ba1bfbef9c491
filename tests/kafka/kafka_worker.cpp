// The worker of the soak on ekiden::kafka. --way coroutine: the function is a coroutine that awaits its work,
// so that few threads have many records in flight.

#include <ekiden/async.hpp>
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <tests/kafka/work.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace kafka_soak {

using ekiden::kafka::reply;
using ekiden::kafka::request;

struct job {
    explicit job(const arguments& given)
        : out(given.text("out")), effects(given.text("mode") == "effects"),
          usual(given.number("work-us", 1000)), reports(given.text("journal")) {}

    input begin(const request& r) const {
        const input what = read_input(r.key, r.value);
        reports.began(what.which, r.id.partition, r.id.offset, r.attempt);
        return what;
    }
    void end(const input& what, const request& r, reply& answer) const {
        const bool poison = what.kind == 'x';
        if (effects && !poison) reports.effect(what.which, r.id.partition, r.id.offset);
        if (!effects && !poison) answer.post(out, std::string(r.key), std::string(r.value));
        reports.ended(what.which, r.id.partition, r.id.offset);
        if (poison) throw std::runtime_error("poison");
    }

    std::string out;
    bool effects;
    std::chrono::microseconds usual;
    journal reports;
};

// These types have linkage, because coroutines of the library have fields of them.
struct in_coroutine {
    const job* todo;

    ekiden::coroutine<> operator()(const request& r, reply& answer) const {
        const input what = todo->begin(r);
        const auto time = work_of(what, todo->usual);
        if (time.count() > 0) co_await ekiden::sleep_for(time);
        todo->end(what, r, answer);
    }
};

struct in_function {
    const job* todo;

    void operator()(const request& r, reply& answer) const {
        const input what = todo->begin(r);
        const auto time = work_of(what, todo->usual);
        if (time.count() > 0) std::this_thread::sleep_for(time);
        todo->end(what, r, answer);
    }
};

namespace {

ekiden::kafka::worker_options options_of(const arguments& given) {
    ekiden::kafka::worker_options chosen;
    chosen.group = given.text("group");
    chosen.topic = given.text("in");
    chosen.name = given.text("worker");
    chosen.mode = given.text("mode") == "exactly_once" ? ekiden::kafka::delivery::exactly_once
                                                       : ekiden::kafka::delivery::at_least_once;
    chosen.held = given.number("held", 1'000);
    chosen.session = std::chrono::milliseconds(given.number("session-ms", 6'000));
    chosen.transaction_limit = std::chrono::milliseconds(given.number("transaction-ms", 10'000));
    chosen.retry.attempts = 2;
    chosen.retry.then = ekiden::records::on_failure::dead_letter;
    chosen.retry.dead_letters = given.text("dead-letters");
    return chosen;
}

// SIGTERM asks the worker to close.
template <class F>
void run(const arguments& given, F f) {
    const bool in_coroutines = given.text("way") == "coroutine";
    ekiden::thread_pool pool(in_coroutines ? 2 : given.number("threads", 16));
    ekiden::kafka::settings where{.brokers = given.text("brokers")};
    if (!given.text("debug").empty()) where.more.emplace_back("debug", given.text("debug")); // of librdkafka
    where.log = [](int level, std::string_view line) {
        std::fprintf(stderr, "%d %.*s\n", level, static_cast<int>(line.size()), line.data());
    };
    ekiden::kafka::worker worker(where, pool.get_executor(), options_of(given), std::move(f));
    std::stop_source stop;
    std::jthread signals([&stop] {
        sigset_t asked;
        sigemptyset(&asked);
        sigaddset(&asked, SIGTERM);
        int which = 0;
        sigwait(&asked, &which);
        stop.request_stop();
    });
    try {
        worker.run(stop.get_token());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kafka_worker: %s\n", error.what());
        std::_Exit(1); // the thread `signals` still waits
    }
}

} // namespace
} // namespace kafka_soak

int main(int count, char** words) try {
    using namespace kafka_soak;
    sigset_t asked; // before any thread exists
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &asked, nullptr);
    const arguments given(count, words);
    const job todo(given);
    if (given.text("way") == "coroutine")
        run(given, in_coroutine{&todo});
    else
        run(given, in_function{&todo});
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "kafka_worker: %s\n", error.what());
    return 1;
}

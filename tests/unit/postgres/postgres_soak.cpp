// A long run: three worker processes, of which one is killed every two seconds, and a server that is killed
// every fifteen. Usage: postgres_soak [RECORDS] Prints and checks how many records were lost, doubled, and
// out of order.
#include <tests/unit/postgres/checker.hpp>
#include <tests/unit/postgres/processes.hpp>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

/// Returns the number of records that are finished. The server may be away.
std::int64_t finished(private_server& server) {
    try {
        return server.number("select count(*) from applied");
    } catch (const std::exception&) {
        return -1;
    }
}

/// Posts records of 10,000 keys. Like in Zipf's law, the n-th key has a share of 1/n.
void post(pg::poster& to, std::int64_t records) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0, std::log(10'000.0));
    std::map<int, std::int64_t> numbers;
    for (std::int64_t i = 0; i != records; ++i) {
        const int key = static_cast<int>(std::exp(uniform(random)));
        if (!to.post("k" + std::to_string(key), std::to_string(++numbers[key]))) std::abort();
    }
}

} // namespace

int main(int count, char** arguments) {
    if (!private_server::is_available()) return 77;
    const std::int64_t records = count > 1 ? std::atoll(arguments[1]) : 100'000;
    private_server server;
    make_checker(server);
    server.sql("create index on applied (seq)");
    pg::poster poster({.connection = server.connection()},
                      {.queue = "in", .policy = ekiden::when_full::block});
    std::vector<std::unique_ptr<worker_process>> workers;
    for (int i = 0; i != 3; ++i) workers.push_back(std::make_unique<worker_process>(server.connection()));
    std::jthread producer([&] { post(poster, records); });

    std::mt19937 random(2);
    int worker_kills = 0, server_kills = 0;
    auto last_progress = clock_type::now();
    auto longest = clock_type::duration::zero();
    std::int64_t before = 0;
    const auto begin = clock_type::now();
    auto next_worker = begin + 2s, next_server = begin + 15s;
    while (true) {
        std::this_thread::sleep_for(50ms);
        const std::int64_t now = finished(server);
        const auto time = clock_type::now();
        if (now > before) {
            longest = std::max(longest, time - last_progress);
            last_progress = time;
            before = now;
        }
        if (now >= records) break;
        if (time - last_progress > 120s) {
            std::puts("no progress for 120 s");
            return 1;
        }
        if (time > next_worker) {
            next_worker = time + 2s;
            worker_process& victim = *workers[random() % 3];
            victim.kill();
            victim.start();
            ++worker_kills;
        }
        if (time > next_server) {
            next_server = time + 15s;
            server.kill();
            server.start();
            // A worker that starts while the server is away ends at once. Its supervisor starts it again.
            for (const auto& one : workers) {
                one->kill();
                one->start();
            }
            ++server_kills;
        }
    }
    producer.join();
    const bool is_flushed = poster.flush(60s) && drains(server);
    int failed = 0;
    for (const auto& one : workers) failed += one->end();
    const counts found = ekiden_test::count(server, records);
    const double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
    std::printf("%lld records in %.0f s, %d workers and %d servers killed, %llu commits in doubt: %lld lost, "
                "%lld doubled, "
                "%lld out of order; longest pause %.1f s\n",
                static_cast<long long>(records), seconds, worker_kills, server_kills,
                static_cast<unsigned long long>(poster.metrics().in_doubt),
                static_cast<long long>(found.lost), static_cast<long long>(found.doubled),
                static_cast<long long>(found.disordered), std::chrono::duration<double>(longest).count());
    return is_flushed && failed == 0 && found == counts{} ? 0 : 1;
}

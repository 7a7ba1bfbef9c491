#include <lab/experiments/server/drive.hpp>
#include <lab/experiments/server/server_process.hpp>
#include <lab/harness/usage.hpp>
#include <tests/server/checking_client.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace lab::server {
namespace {

/// Returns the number of draws for which a request takes 20 us. It is the best of many trials, rounded, so
/// that the cells of a run agree.
std::int64_t draws_of_20_us() {
    constexpr int draws = 5000;
    double best_ns = 1e9;
    [[maybe_unused]] volatile std::uint64_t sum = 0; // so that the draws are not optimized away
    for (int trial = 0; trial != 500; ++trial) {
        const std::uint64_t begin = now_ns();
        std::mt19937 generator;
        std::uint64_t own = 0;
        for (int i = 0; i != draws; ++i) own += generator();
        sum = own;
        best_ns = std::min(best_ns, static_cast<double>(now_ns() - begin));
    }
    const double wanted = 20'000 / (best_ns / draws);
    return std::lround(wanted / 250) * 250;
}

ordered_client::plan plan_for(const cell& c, const server_process& server) {
    ordered_client::plan p;
    p.port = server.port();
    p.pipeline = 16;
    if (c.asked().variant == "20 us") {
        p.draws = draws_of_20_us();
        p.requests = c.pick(500, 50'000, 300'000);
    } else if (c.asked().variant == "checked") {
        p.kill_one_in = 2000;
        p.requests = c.pick(5000, 1'000'000, 10'000'000);
    } else {
        p.requests = c.pick(5000, 300'000, 2'000'000);
    }
    return p;
}

ordered_client::report checked(cell& c, const ordered_client::plan& p) {
    ordered_client::report r;
    try {
        r = ordered_client::run(p);
    } catch (const std::exception& e) {
        c.fail(e.what());
    }
    if (r.violations != 0 && c.asked().variant != "checked") c.fail(r.first_violations.front());
    return r;
}

void by_own_client(cell& c, const server_process& server) {
    ordered_client::plan p = plan_for(c, server);
    const std::uint64_t all = p.requests;
    p.requests = std::min<std::uint64_t>(all, 20'000); // warms up, and proves that the server is right
    (void)checked(c, p);
    p.requests = all;
    for (unsigned i = 0; c.again(i); ++i) {
        repetition done;
        ordered_client::report r;
        const double before = server.cpu_s();
        p.seed = i + 2;
        done.used = c.measure([&] { r = checked(c, p); });
        const auto count = static_cast<double>(r.answered);
        done.figures = {{"us_per_request", r.seconds * 1e6 / count},
                        {"p50_us", r.p50_us},
                        {"p99_us", r.p99_us},
                        {"server_cpu_us", (server.cpu_s() - before) * 1e6 / count},
                        {"violations", static_cast<double>(r.violations)}};
        c.report(done);
    }
}

/// The second line of its CSV is: name, requests per second, then latencies in ms. The 5th column is P50, and
/// the 7th is P99.
void by_redis_benchmark(cell& c, const server_process& server) {
    const std::size_t requests = c.pick(5000, 300'000, 2'000'000);
    for (unsigned i = 0; c.again(i); ++i) {
        repetition done;
        std::string said;
        const double before = server.cpu_s();
        try {
            done.used = c.measure([&] {
                said = output_of({"redis-benchmark", "-p", std::to_string(server.port()), "-n",
                                  std::to_string(requests), "-c", "50", "-P", "16", "-r", "1000", "--csv",
                                  "ADD", "key:__rand_int__", "1"});
            });
        } catch (const std::runtime_error&) {
            c.not_applicable("redis-benchmark (Debian: redis-tools) is missing or failed");
        }
        std::vector<double> words;
        std::size_t place = said.rfind("\"ADD");
        place = place == std::string::npos ? place : said.find(',', place);
        while (place != std::string::npos && words.size() < 7) {
            words.push_back(std::strtod(said.c_str() + place + 2, nullptr));
            place = said.find(',', place + 1);
        }
        if (words.size() < 6 || words[0] <= 0) c.fail("redis-benchmark says " + said.substr(0, 200));
        done.figures = {{"us_per_request", 1e6 / words[0]},
                        {"p50_us", words[3] * 1e3},
                        {"p99_us", words[5] * 1e3},
                        {"server_cpu_us", (server.cpu_s() - before) * 1e6 / static_cast<double>(requests)}};
        c.report(done);
    }
}

} // namespace

void drive(cell& c, const char* model) {
    const std::int64_t on_the_spot = c.asked().variant == "0, handed over" ? -1 : 100;
    try {
        server_process server(model, c.workers(), on_the_spot);
        c.asked().variant == "redis-benchmark" ? by_redis_benchmark(c, server) : by_own_client(c, server);
        if (server.end() != 0) c.fail("the server did not end as it should");
    } catch (const std::runtime_error& e) {
        c.fail(e.what());
    }
}

} // namespace lab::server

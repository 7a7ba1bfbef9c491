// A part of a server, and its test with seeds. docs/simulation.md explains it.
#include <ekiden/ekiden.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// Asks a backend. Replies with its answer, or without an answer after 100 ms.
class request : public std::enable_shared_from_this<request> {
public:
    request(ekiden::any_executor where, std::function<void(bool)> reply)
        : timer_(where), reply_(std::move(reply)) {}

    void start() {
        timer_.expires_after(100ms);
        timer_.async_wait([self = shared_from_this()](std::error_code error) {
            if (!error) self->reply_(false);
        });
    }
    void answered() {
        timer_.cancel();
        reply_(true);
    }

private:
    ekiden::steady_timer timer_;
    std::function<void(bool)> reply_;
};

/// The corrected class: only the first of the two events replies.
class careful_request : public std::enable_shared_from_this<careful_request> {
public:
    careful_request(ekiden::any_executor where, std::function<void(bool)> reply)
        : timer_(where), reply_(std::move(reply)) {}

    void start() {
        timer_.expires_after(100ms);
        timer_.async_wait([self = shared_from_this()](std::error_code error) {
            if (!error) self->finish(false);
        });
    }
    void answered() {
        timer_.cancel();
        finish(true);
    }

private:
    void finish(bool is_good) {
        if (!std::exchange(has_replied_, true)) reply_(is_good);
    }

    ekiden::steady_timer timer_;
    std::function<void(bool)> reply_;
    bool has_replied_ = false;
};

template <class Request>
void answer_in_time(ekiden::sim_context& sim) {
    ekiden::sim::exactly_once reply("the reply");
    const auto one = std::make_shared<Request>(sim.get_executor(), [&](bool) { reply.done(); });
    one->start();
    ekiden::steady_timer backend(sim, 80ms);
    backend.async_wait([one](std::error_code) { one->answered(); });
    sim.run();
}

void deposit_over_a_bad_line(ekiden::sim_context& sim) {
    ekiden::sim_context server({.name = "server"});
    ekiden::sim::link wire(sim, server, "client to server");
    int balance = 0;
    int confirmed = 0;
    (void)wire.send([&] {
        ++balance;
        (void)wire.send_back([&] { ++confirmed; });
    });
    sim.run();
    ekiden::sim::expect(confirmed <= balance, "what is confirmed has happened");
    if (balance != confirmed) ekiden::sim::reached("the reply was lost");
}

} // namespace

int main() {
    ekiden::sim::options chosen;
    chosen.seeds = 1000;
    chosen.faults = {ekiden::sim::fault::late_task};
    const ekiden::sim::report found = ekiden::sim::explore(chosen, answer_in_time<request>);
    if (found.is_clean()) return EXIT_FAILURE;
    std::printf("found by seed %llu\n", static_cast<unsigned long long>(found.seed));

    const auto again = ekiden::sim::replay(found.replay, answer_in_time<request>);
    if (again.why != found.why) return EXIT_FAILURE;

    const ekiden::sim::report repaired = ekiden::sim::explore(chosen, answer_in_time<careful_request>);
    if (!repaired.is_clean()) return EXIT_FAILURE;

    const auto all = ekiden::sim::explore_all(2, answer_in_time<careful_request>);
    if (!all.is_clean() || !all.is_complete) return EXIT_FAILURE;
    std::printf("clean: %llu seeds, and all %llu schedules with at most two choices out of the ordinary\n",
                static_cast<unsigned long long>(repaired.runs), static_cast<unsigned long long>(all.runs));

    ekiden::sim::options lossy;
    lossy.faults = {ekiden::sim::fault::link_drop, ekiden::sim::fault::link_cut};
    auto over_a_line = ekiden::sim::explore(lossy, deposit_over_a_bad_line);
    return over_a_line.is_clean() && over_a_line.reached["the reply was lost"] > 0 ? EXIT_SUCCESS
                                                                                   : EXIT_FAILURE;
}

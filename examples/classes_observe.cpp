/// A short example for each class of <ekiden/observe.hpp> and <ekiden/sim.hpp>. The reference shows them.
#include <ekiden/execution.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sim.hpp>
#include <ekiden/timer.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

namespace {

bool live_view_example() {
    ekiden::thread_pool pool;
    ekiden::live_view view(8); // eight columns, one for each task
    for (std::size_t i = 0; i != 8; ++i) {
        pool.post([&view, i] {
            const ekiden::live_view::task shown(view, i); // until the end of the task
        });
    }
    pool.wait_idle();
    return view.threads() > 0;
}

bool flight_recorder_example() {
    const std::string folder = std::filesystem::temp_directory_path().string();
    ekiden::flight_recorder recorder({.folder = folder, .length = 5s});
    ekiden::trace::mark("an unusual request");
    const std::string path = recorder.save("unusual request"); // empty in the pause after another file
    return std::filesystem::remove(path);
}

bool prometheus_page_example() {
    ekiden::thread_pool pool;
    ekiden::prometheus_page page;
    ekiden::add_metrics(page, pool.metrics(), "requests");
    page.gauge("connections", "Open connections.", 3);
    const std::string text = page.text(); // for a server to send
    return text.find("connections 3") != std::string::npos;
}

bool request_log_example() {
    ekiden::request_log log({.capacity = 1000});
    ekiden::thread_pool pool;
    for (int account = 0; account != 3; ++account) pool.post(log.wrap(account, [] { /* the request */ }));
    pool.wait_idle();
    return log.write_csv(std::cout).written == 3;
}

bool span_example() {
    ekiden::trace::start();
    {
        const ekiden::trace::span span("parse"); // an interval in the picture
        ekiden::trace::mark("line", 1);          // a moment
    }
    ekiden::trace::stop();
    const ekiden::trace::snapshot recorded = ekiden::trace::take();
    return recorded.tracks.size() == 1 && recorded.tracks.front().events.size() == 2;
}

bool event_example() {
    for (const ekiden::trace::track& track : ekiden::trace::take().tracks) {
        for (const ekiden::trace::event& event : track.events) {
            std::cout << track.thread_name << ": " << event.name << ", " << event.length << " ns\n";
        }
    }
    return true;
}

bool name_example() {
    static constexpr ekiden::trace::name parse("parse"); // a literal
    const ekiden::trace::span span(parse);
    return parse.text() == std::string("parse");
}

bool sim_context_example() {
    ekiden::sim_context sim(1); // the seed
    std::string order;
    ekiden::steady_timer timer(sim, 1h);
    timer.async_wait([&](std::error_code) { order += "later"; });
    ekiden::post(sim, [&] { order += "now "; });
    sim.run(); // an hour of virtual time
    return !order.empty();
}

bool report_example() {
    const ekiden::sim::report found = ekiden::sim::explore(100, [](ekiden::sim_context& sim) {
        int posted = 0;
        for (int i = 0; i != 3; ++i) ekiden::post(sim, [&] { ++posted; });
        sim.run();
        ekiden::sim::expect(posted == 3, "all tasks have run");
    });
    return found.is_clean();
}

bool exactly_once_example() {
    const auto test = [](ekiden::sim_context& sim) {
        ekiden::sim::exactly_once reply("the reply"); // fails if it is not done exactly once
        ekiden::post(sim, [&] { reply.done(); });
        sim.run();
    };
    return ekiden::sim::explore(100, test).is_clean();
}

bool in_order_example() {
    const auto test = [](ekiden::sim_context& sim) {
        const ekiden::lanes<int> lanes(sim.get_executor());
        ekiden::sim::in_order<int> order("the numbers of a key");
        for (int i = 1; i <= 3; ++i) (void)lanes.post(7, [&order, i] { order.saw(7, i); });
        sim.run();
    };
    return ekiden::sim::explore(100, test).is_clean();
}

struct connection {
    void receive(ekiden::sim_context& sim) {
        ekiden::post(sim, [this, alive = life.watched()] {
            alive.expect_alive(); // fails if the connection has been destroyed
            ++received;
        });
    }
    ekiden::sim::life life{"a connection"};
    int received = 0;
};

bool life_example() {
    const auto test = [](ekiden::sim_context& sim) {
        connection one;
        one.receive(sim);
        sim.run();
    };
    return ekiden::sim::explore(100, test).is_clean();
}

bool fault_set_example() {
    ekiden::sim::options chosen;
    chosen.faults = {ekiden::sim::fault::late_task, ekiden::sim::fault::late_timer};
    return chosen.faults.has(ekiden::sim::fault::late_task);
}

bool allocator_example() {
    ekiden::sim::options chosen;
    chosen.faults = {ekiden::sim::fault::allocation};
    const auto test = [](ekiden::sim_context&) {
        try {
            std::vector<int, ekiden::sim::allocator<int>> numbers(10); // throws std::bad_alloc in some runs
        } catch (const std::bad_alloc&) {
            ekiden::sim::note("no memory");
        }
    };
    return ekiden::sim::explore(chosen, test).is_clean();
}

bool injected_fault_example() {
    ekiden::sim::options chosen;
    chosen.faults = {ekiden::sim::fault::throwing};
    const auto test = [](ekiden::sim_context&) {
        try {
            ekiden::sim::may_throw("the disk is full"); // in some runs
        } catch (const ekiden::sim::injected_fault& fault) {
            ekiden::sim::note(fault.what());
        }
    };
    return ekiden::sim::explore(chosen, test).is_clean();
}

bool link_example() {
    const auto test = [](ekiden::sim_context& client) {
        ekiden::sim_context server({.name = "server"});
        ekiden::sim::link wire(client, server, "client to server");
        int received = 0;
        (void)wire.send([&] { ++received; }); // called in the server
        client.run();
        ekiden::sim::expect(received <= 1, "no message arrives twice");
    };
    return ekiden::sim::explore(100, test).is_clean();
}

} // namespace

int main() {
    const bool examples[] = {
        live_view_example(),   prometheus_page_example(), request_log_example(),  span_example(),
        sim_context_example(), report_example(),          exactly_once_example(), in_order_example(),
        life_example(),        fault_set_example(),       allocator_example(),    injected_fault_example(),
        link_example(),        event_example(),           name_example(),         flight_recorder_example()};
    int failed = 0;
    for (const bool worked : examples) failed += worked ? 0 : 1;
    std::printf("%d examples failed\n", failed);
    return failed;
}

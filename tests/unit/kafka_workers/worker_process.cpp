// A worker in a process of its own, which tests kill and stop. It copies each record of one topic to another
// topic. It writes a line for each call of its function, and one line when it has ended.
//
// worker_process BROKERS GROUP IN OUT NAME once|least SESSION_MS TRANSACTION_MS WORK_US
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

int main(int count, char** arguments) {
    namespace kafka = ekiden::kafka;
    using std::chrono::milliseconds;
    if (count != 10) return 2;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    kafka::settings where{.brokers = arguments[1]};
    where.log = [](int level, std::string_view line) {
        if (level <= 4) std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    };
    kafka::worker_options chosen{.group = arguments[2], .topic = arguments[3], .name = arguments[5]};
    const std::string out = arguments[4];
    const bool is_once = arguments[6] == std::string_view("once");
    chosen.mode = is_once ? kafka::delivery::exactly_once : kafka::delivery::at_least_once;
    chosen.session = milliseconds(std::atoi(arguments[7]));
    chosen.transaction_limit = milliseconds(std::atoi(arguments[8]));
    chosen.commit_every = milliseconds(50);
    const std::chrono::microseconds work(std::atoi(arguments[9]));
    std::setvbuf(stdout, nullptr, _IOLBF, 4096);
    ekiden::thread_pool pool(2);
    std::stop_source stop;
    std::thread([&] {
        int signal = 0;
        sigwait(&ends, &signal);
        stop.request_stop();
    }).detach();
    try {
        kafka::worker worker(where, pool.get_executor(), chosen,
                             [&](const kafka::request& r, kafka::reply& reply) {
                                 std::printf("began %.*s %.*s\n", static_cast<int>(r.key.size()),
                                             r.key.data(), static_cast<int>(r.value.size()), r.value.data());
                                 if (work.count() != 0) std::this_thread::sleep_for(work);
                                 reply.post(out, std::string(r.key), std::string(r.value));
                             });
        worker.run(stop.get_token());
        std::printf("ended cleanly %d\n", worker.close(milliseconds(0)) ? 1 : 0);
    } catch (const kafka::error& e) {
        std::printf("ended %s %s\n", kafka::to_string(e.kind()), e.what());
    }
    std::_Exit(0); // the thread that waits for signals still runs
}

// The bank over Kafka. The requests for an account run in their order, and those for different accounts in
// parallel, on as many workers as the topic has partitions. bank.cpp is the same bank in one process.
//
// bank_kafka                       posts and works in one process, with brokers inside the process
// bank_kafka --brokers HOST:PORT   the same with real brokers
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct account {
    long balance = 0;
    std::int64_t last = -1; ///< the offset of the last request that was applied
};
std::mutex mutex;
std::map<std::string, account, std::less<>> accounts;

/// Adds to a balance, but never below 0. So the order of the requests of an account matters. Kafka can
/// deliver a request again, so each account stores the offset of its last request.
void change(const ekiden::kafka::request& request, ekiden::kafka::reply& reply) {
    const std::lock_guard lock(mutex);
    account& changed = accounts[std::string(request.key)];
    if (request.id.offset <= changed.last) return;
    changed.last = request.id.offset;
    const long amount = std::stol(std::string(request.value));
    if (changed.balance + amount >= 0) changed.balance += amount;
    reply.post("balances", std::string(request.key), std::to_string(changed.balance));
}

/// Posts deposits of 100 to ten accounts, each followed by a withdrawal of 100.
template <class Post>
void post_requests(const Post& post) {
    for (int i = 0; i != 1000; ++i) post("account " + std::to_string(i % 10), i % 20 < 10 ? 100 : -100);
}

} // namespace

int main(int count, char** arguments) {
    std::optional<ekiden::kafka::embedded_brokers> embedded;
    ekiden::kafka::settings where;
    if (count == 3 && arguments[1] == std::string_view("--brokers"))
        where.brokers = arguments[2];
    else
        where = embedded.emplace().where();

    ekiden::thread_pool pool;
    ekiden::kafka::worker_options chosen{.group = "bank", .topic = "accounts", .name = "worker 1"};
    chosen.mode = ekiden::kafka::delivery::at_least_once;
    ekiden::kafka::worker worker(where, pool.get_executor(), chosen, change);
    std::jthread running([&](std::stop_token stop) { worker.run(stop); });

    ekiden::kafka::poster requests(where, {.topic = "accounts", .policy = ekiden::when_full::block});
    post_requests([&](const std::string& account, long amount) {
        (void)requests.post(account, std::to_string(amount));
    });
    if (!requests.flush(30s)) return 1;
    while (worker.metrics().done < 1000) std::this_thread::sleep_for(10ms);
    running.request_stop();
    running.join(); // the progress is committed, so the next worker repeats nothing

    for (const auto& [name, state] : accounts) std::printf("%s: %ld\n", name.c_str(), state.balance);
    return accounts.size() == 10 && accounts.find("account 3")->second.balance == 0 ? 0 : 1;
}

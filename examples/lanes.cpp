/// Requests for many accounts, from many threads. Requests for one account run in order, one at a time.
/// Requests for different accounts run in parallel. No account needs a lock, and the program need not manage
/// strands.
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>

#include <array>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t accounts = 100;
constexpr int clients = 4;
constexpr int requests = 1000; // for each client and account

struct account {
    long balance = 0;                // needs no atomic, because its lane runs one function at a time
    std::array<int, clients> last{}; // the number of each client's last request
    int out_of_order = 0;
};

/// Each client numbers its requests. Each account receives the requests of a client in that order.
int serve(ekiden::thread_pool& pool) {
    std::vector<account> all(accounts);
    const ekiden::lanes<std::size_t> lanes(pool.get_executor());
    {
        std::vector<std::jthread> threads;
        for (std::size_t client = 0; client != clients; ++client) {
            threads.emplace_back([&, client] {
                for (int number = 1; number <= requests; ++number) {
                    for (std::size_t to = 0; to != accounts; ++to) {
                        (void)lanes.post(to, [&here = all[to], client, number] {
                            here.balance += number;
                            here.out_of_order += here.last[client] != number - 1;
                            here.last[client] = number;
                        });
                    }
                }
            });
        }
    }
    pool.wait_idle();
    int wrong = lanes.active() != 0; // an account without requests uses no memory
    for (const account& a : all) wrong += a.out_of_order + (a.balance != 500L * 1001 * clients);
    return wrong;
}

/// A session whose requests arrive faster than they are served. The oldest requests are dropped.
std::string newest_of_a_session(ekiden::thread_pool& pool) {
    using ekiden::when_full;
    const ekiden::lanes<std::string> sessions(pool.get_executor(),
                                              {.lane_capacity = 2, .policy = when_full::drop_oldest});
    std::string seen;
    (void)sessions.post("ada", [&] {
        for (char c = 'a'; c <= 'z'; ++c) (void)sessions.post("ada", [&seen, c] { seen += c; });
    });
    sessions.wait_idle("ada");
    return seen;
}

/// A program that often posts to the same lanes keeps handles of these lanes.
long sum_by_handle(ekiden::thread_pool& pool) {
    const ekiden::lanes<std::string> bank(pool.get_executor());
    long ada_has = 100;
    long bob_has = 100;
    const auto ada = bank.lane("ada");
    const auto bob = bank.lane("bob");
    (void)bank.post(ada, [&] { ada_has += 50; });
    (void)bank.post({ada, bob}, [&] {
        bob_has += ada_has;
        ada_has = 0;
    });
    bank.wait_idle(bob);
    return bob_has;
}

/// The executor of a lane can be used like any other executor.
int answer(ekiden::thread_pool& pool) {
    const ekiden::lanes<int> lanes(pool.get_executor());
    const auto seventh = lanes.get_executor(7);
    auto result = seventh.submit([] { return 42; });
    return result.get();
}

} // namespace

int main() {
    ekiden::thread_pool pool;
    const int wrong = serve(pool);
    const std::string seen = newest_of_a_session(pool);
    const long sum = sum_by_handle(pool);
    const int result = answer(pool);
    std::cout << wrong << " requests out of order; of the alphabet the session has seen " << seen
              << "; Bob has " << sum << "; the seventh lane answers " << result << '\n';
    return wrong == 0 && seen == "yz" && sum == 250 && result == 42 ? 0 : 1;
}

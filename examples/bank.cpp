// A bank in one process. The requests for an account run in their order, and those for different accounts in
// parallel. bank_postgres.cpp is the same bank in many processes.
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::map<std::string, long> balances;

/// Adds to a balance, but never below 0. So the order of the requests of an account matters. A request of 0
/// shows the balance.
void change(const std::string& account, long amount) {
    const std::lock_guard lock(mutex);
    long& balance = balances[account];
    if (balance + amount >= 0) balance += amount;
    if (amount == 0) std::printf("%s: %ld\n", account.c_str(), balance);
}

/// Posts deposits of 100 to ten accounts, each followed by a withdrawal of 100. At the end, shows the
/// balances.
template <class Post>
void post_requests(const Post& post) {
    for (int i = 0; i != 1000; ++i) post("account " + std::to_string(i % 10), i % 20 < 10 ? 100 : -100);
    for (int i = 0; i != 10; ++i) post("account " + std::to_string(i), 0);
}

} // namespace

int main() {
    ekiden::thread_pool pool;
    const ekiden::lanes<std::string> accounts(pool.get_executor());
    post_requests([&](const std::string& account, long amount) {
        (void)accounts.post(account, [=] { change(account, amount); });
    });
    pool.wait_idle();
}

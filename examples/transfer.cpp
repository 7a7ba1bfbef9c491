/// Transfers between the accounts of a bank, from many threads. A transfer is a request with two keys. A
/// request that only reads can run beside other requests that read the same keys. No account needs a lock.
/// The balances are the same as if one thread had made all transfers, one after the other.
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t accounts = 60;
constexpr std::size_t branch_size = 6; // a transfer stays inside a branch, so the sum of a branch is constant
constexpr long opening_balance = 1000; // the balance of each account
constexpr unsigned clients = 4;
constexpr std::size_t transfers = 10'000; // for each client

struct transfer {
    std::size_t from;
    std::size_t to; // may be equal to `from`
    long amount;
};

std::vector<transfer> random_transfers(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t limit) { return random() % limit; };
    std::vector<transfer> all;
    for (std::size_t n = 0; n != transfers; ++n) {
        const std::size_t branch = below(accounts / branch_size) * branch_size;
        const auto amount = static_cast<long>(below(500));
        all.push_back({branch + below(branch_size), branch + below(branch_size), amount});
    }
    return all;
}

/// Returns the accounts of the branch to which an account belongs.
std::vector<std::size_t> branch_of(std::size_t account) {
    std::vector<std::size_t> branch(branch_size);
    std::iota(branch.begin(), branch.end(), account / branch_size * branch_size);
    return branch;
}

/// Posts the transfers of a client, and audits a branch after each tenth transfer. `wrong_sums` counts the
/// audits that have found a wrong sum.
void serve(const ekiden::lanes<std::size_t>& bank, std::vector<long>& balance, std::atomic<int>& wrong_sums,
           unsigned client) {
    std::size_t number = 0;
    for (const auto [from, to, amount] : random_transfers(client)) {
        (void)bank.post({from, to}, [&balance, from, to, amount] {
            if (balance[from] < amount) return; // refused
            balance[from] -= amount;
            balance[to] += amount;
        });
        if (++number % 10 != 0) continue;
        const std::vector<std::size_t> branch = branch_of(from);
        (void)bank.post(bank.keys().read_all(branch), [&balance, &wrong_sums, branch] {
            long sum = 0;
            for (const std::size_t account : branch) sum += balance[account];
            if (sum != opening_balance * static_cast<long>(branch_size))
                ++wrong_sums; // audits can run side by side
        });
    }
}

/// Lets several clients post transfers and audits at the same time. Returns the number of audits that found a
/// wrong sum.
int wrong_sums_of_many_clients(ekiden::thread_pool& pool) {
    std::atomic<int> wrong_sums = 0;
    std::vector<long> balance(accounts, opening_balance);
    const ekiden::lanes<std::size_t> bank(pool.get_executor());
    {
        std::vector<std::jthread> threads;
        for (unsigned client = 0; client != clients; ++client)
            threads.emplace_back([&, client] { serve(bank, balance, wrong_sums, client); });
    }
    pool.wait_idle();
    return wrong_sums;
}

/// Returns the balances after the transfers of one client, on a pool with `workers` threads. Returns nothing
/// if an audit has found a wrong sum.
std::vector<long> balances_with(unsigned workers) {
    ekiden::thread_pool pool(workers);
    std::atomic<int> wrong_sums = 0;
    std::vector<long> balance(accounts, opening_balance);
    const ekiden::lanes<std::size_t> bank(pool.get_executor());
    serve(bank, balance, wrong_sums, 1);
    pool.wait_idle();
    if (wrong_sums != 0) balance.clear();
    return balance;
}

/// Returns the balances that balances_with() must return. This function makes the transfers itself.
std::vector<long> sequential_balances() {
    std::vector<long> balance(accounts, opening_balance);
    for (const auto [from, to, amount] : random_transfers(1)) {
        if (balance[from] < amount) continue;
        balance[from] -= amount;
        balance[to] += amount;
    }
    return balance;
}

/// Makes a deposit to each account, and pays interest for two years. Returns the sum of all balances.
long after_two_years(ekiden::thread_pool& pool) {
    constexpr std::size_t rates = accounts;      // the key of `rate`
    constexpr std::size_t limits = accounts + 1; // the key of `limit`
    long rate = 2;                               // per cent
    const long limit = 1550;
    std::vector<long> balance(accounts, opening_balance);
    const ekiden::lanes<std::size_t> bank(pool.get_executor());
    const auto pay_interest = [&](std::size_t to) {
        (void)bank.post(bank.keys().write(to).read(rates, limits), [&balance, &rate, &limit, to] {
            balance[to] = std::min(balance[to] * (100 + rate) / 100, limit);
        });
    };
    for (std::size_t to = 0; to != accounts; ++to) {
        long amount = 500;
        (void)bank.post(to, [&balance, to, amount] { balance[to] += amount; });
        pay_interest(to);
    }
    (void)bank.post(rates, [&rate] { rate = 3; });
    for (std::size_t to = 0; to != accounts; ++to) pay_interest(to);
    pool.wait_idle();
    return std::accumulate(balance.begin(), balance.end(), 0L);
}

} // namespace

int main() {
    ekiden::thread_pool pool;
    const int wrong = wrong_sums_of_many_clients(pool);
    std::cout << clients * transfers << " transfers, " << clients * transfers / 10 << " audits, " << wrong
              << " wrong sums\n";
    const std::vector<long> expected = sequential_balances();
    const bool is_sequential = balances_with(1) == expected && balances_with(8) == expected;
    std::cout << "with 1 and with 8 workers, the balances are "
              << (is_sequential ? "those of a sequential run\n" : "wrong\n");
    const long sum = after_two_years(pool);
    std::cout << "the sum of all balances after two years is " << sum << '\n';
    return wrong == 0 && is_sequential && sum == 1550 * static_cast<long>(accounts) ? 0 : 1;
}

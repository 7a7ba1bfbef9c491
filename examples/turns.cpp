/// Requests that wait for a database. The rows of a bank are in SQLite. A request is a coroutine that awaits
/// its rows. Meanwhile, the turn of the request keeps the lanes of its accounts, and no thread waits.
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>

#include <sqlite3.h>

#include <atomic>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using ekiden::coroutine;

constexpr int accounts = 20;
constexpr long opening_balance = 1000; // the balance of each account

/// The rows of the accounts. A pool of its own calls SQLite. The strand makes the calls in order.
class account_table {
public:
    account_table() {
        sqlite3_open(":memory:", &connection_);
        run("CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER)");
        for (int id = 0; id != accounts; ++id) run(update(id, opening_balance));
    }
    ~account_table() {
        pool.join();
        sqlite3_close(connection_);
    }
    ekiden::future<long> balance(int id) {
        const auto read = "SELECT balance FROM account WHERE id=" + std::to_string(id);
        return calls_.submit([=, this] { return run(read); });
    }
    /// Writes two rows in one transaction.
    ekiden::future<long> set_balances(int a, long balance_a, int b, long balance_b) {
        const auto write = "BEGIN;" + update(a, balance_a) + update(b, balance_b) + "COMMIT";
        return calls_.submit([=, this] { return run(write); });
    }
    ekiden::thread_pool pool{1};

private:
    static std::string update(int id, long balance) {
        return "REPLACE INTO account VALUES(" + std::to_string(id) + "," + std::to_string(balance) + ");";
    }
    /// Runs statements, and returns the last number of the result. Blocks the thread.
    long run(const std::string& statements) {
        long number = 0;
        const auto read_row = [](void* to, int, char** columns, char**) {
            *static_cast<long*>(to) = std::stol(columns[0]);
            return 0;
        };
        if (sqlite3_exec(connection_, statements.c_str(), read_row, &number, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(connection_));
        return number;
    }
    sqlite3* connection_ = nullptr;
    ekiden::strand<ekiden::thread_pool::executor_type> calls_{pool.get_executor()};
};

/// Between the first read and the end of the write, no other request may change the two rows.
coroutine<> transfer(account_table& table, int from, int to, long amount) {
    const long old_from = co_await table.balance(from);
    const long old_to = co_await table.balance(to);
    if (old_from < amount) co_return; // refused
    co_await table.set_balances(from, old_from - amount, to, old_to + amount);
}

/// Returns the sum of all balances.
coroutine<long> audit(const ekiden::lanes<int>& bank, account_table& table) {
    std::vector<int> all;
    for (int account = 0; account != accounts; ++account) all.push_back(account);
    const auto turn = co_await ekiden::async_turn(bank, bank.keys().read_all(all));
    long sum = 0;
    for (const int account : all) sum += co_await table.balance(account);
    co_return sum;
}

/// Several clients start transfers. Returns how many audits have found a wrong sum.
int wrong_sums_of_many_clients() {
    ekiden::thread_pool pool(2);
    account_table table;
    const ekiden::lanes<int> bank(pool.get_executor());
    std::atomic<int> wrong_sums = 0;
    const auto serve = [&](unsigned client) {
        std::mt19937 random(client);
        for (int n = 1; n <= 100; ++n) {
            const auto from = static_cast<int>(random() % accounts);
            const int to = (from + 7) % accounts;
            const auto amount = static_cast<long>(random() % 500);
            ekiden::spawn_in_turn(bank, {from, to},
                                  [&table, from, to, amount] { return transfer(table, from, to, amount); });
            const long sum = ekiden::sync_wait(pool.get_executor(), audit(bank, table));
            if (sum != accounts * opening_balance) ++wrong_sums;
        }
    };
    std::vector<std::jthread> clients;
    for (unsigned client = 0; client != 3; ++client) clients.emplace_back(serve, client);
    clients.clear(); // waits for the clients
    pool.join();     // waits for the transfers
    return wrong_sums;
}

/// Returns the balance, or nothing if earlier requests of the account need more than 2 ms.
coroutine<std::optional<long>> balance_soon(const ekiden::lanes<int>& bank, account_table& table) {
    const auto turn = co_await ekiden::async_turn_for(bank, bank.keys().read(1), 2ms);
    if (!turn) co_return std::nullopt;
    const long balance = co_await table.balance(1);
    co_return balance;
}

/// 100 transfers of 1 to account 1 arrive while the database is slow. Returns the balance of account 1.
long balance_after_100_transfers(bool in_turns) {
    ekiden::thread_pool pool(2);
    account_table table;
    const ekiden::lanes<int> bank(pool.get_executor());
    const auto transfer_one = [&table] { return transfer(table, 0, 1, 1); };
    table.pool.pause();
    for (int n = 0; n != 100; ++n) {
        if (in_turns)
            ekiden::spawn_in_turn(bank, {0, 1}, transfer_one);
        else
            ekiden::co_spawn(bank.get_executor(1), transfer_one); // leaves its lane at each co_await
    }
    pool.wait_idle(); // now all transfers wait
    if (in_turns && ekiden::sync_wait(pool.get_executor(), balance_soon(bank, table))) return 0; // too soon
    table.pool.resume();
    pool.join();
    return table.balance(1).get();
}

} // namespace

int main() {
    const int wrong = wrong_sums_of_many_clients();
    std::cout << "300 transfers, 300 audits, " << wrong << " wrong sums\n";
    const long in_turns = balance_after_100_transfers(true);
    const long without = balance_after_100_transfers(false);
    std::cout << "balance after 100 transfers: " << in_turns << ", without turns: " << without << '\n';
    return wrong == 0 && in_turns == 1100 && without == 1001 ? 0 : 1;
}

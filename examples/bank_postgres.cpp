// A bank in many processes. The requests for an account run in their order, and those for different accounts
// in parallel. bank.cpp is the same bank in one process. bank_postgres CONNECTION post|work [--metrics FILE]
#include <ekiden/postgres.hpp>
#include <examples/metrics_file.hpp>

#include <cstdio>
#include <string>

namespace {

/// Adds to a balance, but never below 0. So the order of the requests of an account matters. A request of 0
/// shows the balance.
void change(const ekiden::records::request& request, ekiden::postgres::reply& to) {
    const std::string account(request.key), amount(request.value);
    const auto rows = to.execute("update balances set balance = balance + $2 where account = $1 and "
                                 "balance + $2 >= 0 returning balance",
                                 {account, amount});
    if (amount == "0") std::printf("%s: %s\n", account.c_str(), rows[0][0]->c_str());
}

/// Posts deposits of 100 to ten accounts, each followed by a withdrawal of 100. At the end, shows the
/// balances.
template <class Post>
void post_requests(const Post& post) {
    for (int i = 0; i != 1000; ++i) post("account " + std::to_string(i % 10), i % 20 < 10 ? 100 : -100);
    for (int i = 0; i != 10; ++i) post("account " + std::to_string(i), 0);
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    const ekiden::postgres::settings where{.connection = arguments[1]};
    if (arguments[2] == std::string("work")) {
        ekiden::postgres::worker worker(where, {.queue = "accounts"}, change);
        const metrics_file page(worker, count > 4 ? arguments[4] : "");
        worker.run(); // until the process is killed
    }
    ekiden::postgres::poster accounts(where, {.queue = "accounts"});
    post_requests([&](const std::string& account, long amount) {
        (void)accounts.post(account, std::to_string(amount));
    });
}

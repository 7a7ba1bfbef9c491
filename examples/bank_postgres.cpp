// A bank in many processes. The requests for an account run in their order, and those for different accounts
// in parallel. bank.cpp is the same bank in one process. Usage: bank_postgres CONNECTION post|work. The table
// is made by: create table balances (account text primary key, balance bigint not null)
#include <ekiden/postgres.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace {

/// Adds to a balance, but never below 0. So the order of the requests of an account matters.
void change(const ekiden::records::request& request, ekiden::postgres::reply& to) {
    to.execute("insert into balances values ($1, 0) on conflict do nothing", {std::string(request.key)});
    to.execute("update balances set balance = balance + $2 where account = $1 and balance + $2 >= 0",
               {std::string(request.key), std::string(request.value)});
}

/// Posts deposits of 100 to ten accounts, each followed by a withdrawal of 100.
template <class Post>
void post_requests(const Post& post) {
    for (int i = 0; i != 1000; ++i) post("account " + std::to_string(i % 10), i % 20 < 10 ? 100 : -100);
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const ekiden::postgres::settings where{.connection = arguments[1]};
    if (arguments[2] == std::string_view("work")) {
        ekiden::postgres::worker worker(where, {.queue = "accounts"}, change);
        worker.run(); // until the process is killed
    }
    ekiden::postgres::poster accounts(where, {.queue = "accounts"});
    post_requests([&](const std::string& account, long amount) {
        (void)accounts.post(account, std::to_string(amount));
    });
    return accounts.flush(std::chrono::seconds(30)) ? 0 : 1;
}

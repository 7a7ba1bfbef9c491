// The checking client as a program. Exit status 1 means violations, 2 means that it could not run.
#include "checking_client.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace {

int show(const ordered_client::report& r) {
    std::cout << r.answered << " of " << r.sent << " requests answered, " << r.lost << " lost, " << r.killed
              << " connections killed, " << r.ended << " ended by the server, in " << r.seconds << " s ("
              << static_cast<double>(r.answered) / r.seconds << " a second); p50 " << r.p50_us << " us, p99 "
              << r.p99_us << " us; " << r.violations << " violations\n";
    for (const std::string& what : r.first_violations) std::cout << "  " << what << '\n';
    return r.violations == 0 ? EXIT_SUCCESS : 1;
}

} // namespace

int main(int count, char** words) {
    try {
        std::map<std::string, long> values{
            {"--port", 6380},        {"--connections", 100}, {"--keys", 1000}, {"--requests", 1'000'000},
            {"--pipeline", 32},      {"--kill-one-in", 0},   {"--draws", -1},  {"--seed", 1},
            {"--may-be-refused", 0}, {"--accounts", 0}};
        for (int i = 1; i + 1 < count; i += 2) {
            const auto known = values.find(words[i]);
            if (known == values.end()) throw std::runtime_error("unknown option " + std::string(words[i]));
            known->second = std::stol(words[i + 1]);
        }
        ordered_client::plan p;
        p.port = static_cast<std::uint16_t>(values["--port"]);
        p.connections = static_cast<unsigned>(values["--connections"]);
        p.keys = static_cast<unsigned>(values["--keys"]);
        p.accounts = static_cast<unsigned>(values["--accounts"]);
        p.requests = static_cast<std::uint64_t>(values["--requests"]);
        p.pipeline = static_cast<unsigned>(values["--pipeline"]);
        p.kill_one_in = static_cast<unsigned>(values["--kill-one-in"]);
        p.draws = values["--draws"];
        p.seed = static_cast<std::uint64_t>(values["--seed"]);
        p.may_be_refused = values["--may-be-refused"] != 0;
        return show(ordered_client::run(p));
    } catch (const std::exception& e) {
        std::cerr << "ordered_client: " << e.what() << '\n';
        return 2;
    }
}

/// Counts records that are lost, doubled or out of order.
///
/// Each key has the numbers 1, 2, 3, ... A handler writes each number into a table, and sends it to the queue
/// `out`. Both must then contain each number once, in order.
#pragma once

#include <ekiden/postgres.hpp>
#include <tests/unit/postgres/server.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace ekiden_test {

struct counts {
    std::int64_t lost = 0, doubled = 0, disordered = 0;
    friend bool operator==(const counts&, const counts&) = default;
};

inline void make_checker(const private_server& server) {
    server.sql("create table applied (seq bigserial, key text not null, n bigint not null)");
}

/// Handles a record of the queue `in`.
inline void apply(const ekiden::records::request& of, ekiden::postgres::reply& to) {
    to.execute("insert into applied (key, n) values ($1, $2)", {std::string(of.key), std::string(of.value)});
    to.post("out", std::string(of.key), std::string(of.value));
}

/// Posts the numbers of `each` records to each key.
inline void post_numbers(ekiden::postgres::poster& to, int keys, int each) {
    for (int n = 1; n <= each; ++n)
        for (int key = 0; key != keys; ++key)
            if (!to.post("k" + std::to_string(key), std::to_string(n))) throw std::runtime_error("no room");
}

inline counts count_in(const private_server& server, const std::string& rows, std::int64_t expected) {
    const auto found =
        server.sql("select " + std::to_string(expected)
                   + " - count(distinct (key, n)), count(*) - count(distinct (key, n)), "
                     "count(*) filter (where before >= n) from (select key, n, lag(n) over (partition "
                     "by key order by seq) as before from ("
                   + rows + ") r) s");
    const auto number = [&](std::size_t i) { return std::stoll(found.at(0).at(i).value()); };
    return {number(0), number(1), number(2)};
}
/// Returns the sum of both places.
inline counts count(const private_server& server, std::int64_t expected) {
    const counts effects = count_in(server, "select * from applied", expected);
    const counts outputs = count_in(server,
                                    "select id as seq, convert_from(key, 'UTF8') as key, convert_from(value, "
                                    "'UTF8')::bigint as n from ekiden.record where queue = 'out'",
                                    expected);
    return {effects.lost + outputs.lost, effects.doubled + outputs.doubled,
            effects.disordered + outputs.disordered};
}

/// Waits until a statement returns a number. Returns false after 40 seconds.
inline bool becomes(const private_server& server, const std::string& statement, std::int64_t number) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    while (server.number(statement) != number) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}
inline bool drains(const private_server& server) {
    return becomes(server, "select count(*) from (select 1 from ekiden.record where queue = 'in' limit 1) r",
                   0);
}

/// A worker that runs in a thread of its own.
class running_worker {
public:
    template <class F>
    running_worker(const ekiden::postgres::settings& where, const ekiden::postgres::worker_options& chosen,
                   F f)
        : worker_(where, chosen, std::move(f)), thread_([this](const std::stop_token& stop) {
              try {
                  worker_.run(stop);
              } catch (...) {
                  failure_ = std::current_exception();
              }
          }) {}
    ekiden::postgres::worker& operator*() { return worker_; }
    ekiden::postgres::worker* operator->() { return &worker_; }
    /// Stops the worker, and throws what run() has thrown.
    void end() {
        thread_.request_stop();
        join();
    }
    void join() {
        thread_.join();
        if (failure_ != nullptr) std::rethrow_exception(failure_);
    }

private:
    ekiden::postgres::worker worker_;
    std::exception_ptr failure_;
    std::jthread thread_;
};

} // namespace ekiden_test

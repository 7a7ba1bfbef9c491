#include "senders.hpp"

#include <ekiden/execution/strand.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace ekiden_test;

TEST_CASE("bulk, bulk_chunked and bulk_unchunked make each call once, in threads of the pool") {
    ekiden::thread_pool pool(2);
    const auto on_pool = ekiden::as_scheduler(pool);
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<int> outside{0};
    const auto mark = [&](unsigned i) {
        ++calls[i];
        if (!pool.running_in_this_thread()) ++outside;
    };
    sync_wait(ex::schedule(on_pool) | ex::bulk(ex::par, 1000U, mark));
    sync_wait(ex::schedule(on_pool) | ex::bulk_chunked(ex::par, 1000U, [&](unsigned from, unsigned to) {
                  for (; from != to; ++from) mark(from);
              }));
    sync_wait(ex::schedule(on_pool) | ex::bulk_unchunked(ex::par_unseq, 1000U, mark));
    sync_wait(ex::schedule(on_pool) | ex::bulk(ex::seq, 1000U, mark));
    int wrong = 0;
    for (const std::atomic<int>& each : calls) wrong += each != 4 ? 1 : 0;
    CHECK(wrong == 0);
    CHECK(outside == 0);
}

TEST_CASE("the calls of bulk on a pool run at the same time, so they may wait for each other's threads") {
    ekiden::thread_pool pool(2);
    std::mutex lock;
    std::set<std::thread::id> threads;
    const auto count = [&] {
        const std::lock_guard guard(lock);
        return threads.size();
    };
    // The calls wait until a second thread has come. With one thread, the test would not end.
    sync_wait(ex::schedule(ekiden::as_scheduler(pool)) | ex::bulk(ex::par, 100, [&](int) {
                  {
                      const std::lock_guard guard(lock);
                      threads.insert(std::this_thread::get_id());
                  }
                  while (count() < 2) std::this_thread::yield();
              }));
    CHECK(threads.size() == 2);
}

TEST_CASE("bulk on a strand makes its calls in order, inside the strand") {
    ekiden::thread_pool pool(2);
    const ekiden::strand serial(pool.get_executor());
    std::vector<int> order;
    int outside = 0;
    sync_wait(ex::schedule(ekiden::as_scheduler(serial)) | ex::bulk(ex::par, 100, [&](int i) {
                  order.push_back(i);
                  outside += serial.running_in_this_thread() ? 0 : 1;
              }));
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(order == expected);
    CHECK(outside == 0);
}

TEST_CASE("bulk passes the values on, and an exception of a call becomes the error") {
    ekiden::thread_pool pool(2);
    const auto on_pool = ekiden::as_scheduler(pool);
    const auto [sum] = *sync_wait(
        ex::schedule(on_pool) | ex::then([] { return std::vector<int>(100, 1); })
        | ex::bulk(ex::par, 100, [](int i, std::vector<int>& v) { v[static_cast<std::size_t>(i)] += i; })
        | ex::then([](const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); }));
    CHECK(sum == 100 + 99 * 50);
    ekiden::thread_pool alone(1);
    in_worker(alone, [&] {
        auto fails = ex::bulk(ex::schedule(ekiden::as_scheduler(alone)), ex::par, 100, [](int i) {
            if (i == 50) throw std::range_error("50");
        });
        CHECK_THROWS_AS(sync_wait(std::move(fails)), std::range_error);
    });
    CHECK(sync_wait(ex::schedule(on_pool) | ex::bulk(ex::par, 0, [](int) { throw 1; })).has_value());
}

TEST_CASE("bulk after when_all and continues_on runs in the pool") {
    ekiden::thread_pool pool(2);
    const auto on_pool = ekiden::as_scheduler(pool);
    std::atomic<int> inside{0};
    sync_wait(ex::just(2) | ex::continues_on(on_pool) | ex::bulk(ex::par, 50, [&](int, auto&...) {
                  inside += pool.running_in_this_thread() ? 1 : 0;
              }));
    CHECK(inside == 50);
}

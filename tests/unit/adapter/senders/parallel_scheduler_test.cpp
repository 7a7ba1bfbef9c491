#include "senders.hpp"

#include <ekiden/pool/default_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using namespace ekiden_test;

TEST_CASE("the parallel scheduler of the implementation runs on the default pool") {
    const auto scheduler = ex::get_parallel_scheduler();
    const auto is_inside = [] { return ekiden::default_pool().running_in_this_thread(); };
    CHECK(std::get<0>(*sync_wait(ex::schedule(scheduler) | ex::then(is_inside))));
    CHECK(scheduler == ex::get_parallel_scheduler());
}

TEST_CASE("bulk on the parallel scheduler makes each call once, in threads of the default pool") {
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<int> outside{0};
    const auto mark = [&](unsigned i) {
        ++calls[i];
        if (!ekiden::default_pool().running_in_this_thread()) ++outside;
    };
    const auto scheduler = ex::get_parallel_scheduler();
    sync_wait(ex::schedule(scheduler) | ex::bulk_unchunked(ex::par, 1000U, mark));
    sync_wait(ex::schedule(scheduler) | ex::bulk_chunked(ex::par, 1000U, [&](unsigned from, unsigned to) {
                  for (; from != to; ++from) mark(from);
              }));
    int wrong = 0;
    for (const std::atomic<int>& each : calls) wrong += each != 2 ? 1 : 0;
    CHECK(wrong == 0);
    CHECK(outside == 0);
}

TEST_CASE("an operation of the parallel scheduler sees a stop request") {
    ex_tokens::inplace_stop_source source;
    source.request_stop();
    const auto [stopped] = *sync_wait(ex::write_env(ex::schedule(ex::get_parallel_scheduler()) | ex::then([] {
                                                        return false;
                                                    }) | ex::upon_stopped([] { return true; }),
                                                    ex::prop(ex_tokens::get_stop_token, source.get_token())));
    CHECK(stopped);
}

#include "senders.hpp"

#include <ekiden/pool/default_pool.hpp>

#include "../../failing_allocations.hpp"

#if defined(EKIDEN_TEST_SENDERS_stdexec)
#include <exec/detail/system_context_replaceability_api.hpp> // the header of the older name warns
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden_test;

namespace {

namespace replacement = ex::parallel_scheduler_replacement;

/// The receiver that an implementation of senders would pass to the backend. Counts the calls of the backend,
/// and marks the items.
class proxy final : public replacement::bulk_item_receiver_proxy {
public:
    explicit proxy(std::size_t items = 0) : marks(items) {}

    void set_value() noexcept override { ends_.fetch_add(1); }
    void set_error(std::exception_ptr) noexcept override { ends_.fetch_add(100); }
    void set_stopped() noexcept override { ends_.fetch_add(100); }
    void execute(std::size_t begin, std::size_t end) noexcept override {
        for (; begin != end; ++begin) ++marks[begin];
        ++calls;
    }
    /// Waits for an end, and returns whether set_value() was the only one.
    [[nodiscard]] bool has_ended_well() const {
        while (ends_ == 0) std::this_thread::yield();
        return ends_ == 1;
    }
    [[nodiscard]] bool all_marked_once() const {
        return std::all_of(marks.begin(), marks.end(),
                           [](const std::atomic<int>& mark) { return mark == 1; });
    }

    std::vector<std::atomic<int>> marks;
    std::atomic<std::size_t> calls{0};

private:
#if defined(EKIDEN_TEST_SENDERS_stdexec)
    void __query_env(stdexec::__type_index, stdexec::__type_index, void*) const noexcept override {}
#endif
    std::atomic<int> ends_{0};
};

} // namespace

TEST_CASE("the backend works in the storage of its caller, or without any, and throws nothing") {
    const auto backend = replacement::query_parallel_scheduler_backend();
    std::array<std::byte, 512> storage{};
    for (const std::span<std::byte> given : {std::span<std::byte>(storage), std::span<std::byte>()}) {
        proxy one;
        proxy chunked(1000);
        proxy unchunked(1000);
        static_assert(noexcept(backend->schedule(one, given)));
        static_assert(noexcept(backend->schedule_bulk_chunked(1, one, given)));
        static_assert(noexcept(backend->schedule_bulk_unchunked(1, one, given)));
        backend->schedule(one, given);
        CHECK(one.has_ended_well());
        backend->schedule_bulk_chunked(1000, chunked, given);
        CHECK(chunked.has_ended_well());
        CHECK(chunked.all_marked_once());
        CHECK(chunked.calls < 1000);
        backend->schedule_bulk_unchunked(1000, unchunked, given);
        CHECK(unchunked.has_ended_well());
        CHECK(unchunked.all_marked_once());
        CHECK(unchunked.calls == 1000);
    }
    // The task lies in the storage, which was 0 before.
    CHECK(std::any_of(storage.begin(), storage.end(), [](std::byte b) { return b != std::byte{0}; }));
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("the backend allocates nothing") {
    const auto backend = replacement::query_parallel_scheduler_backend();
    std::array<std::byte, 512> storage{};
    long before = 0;
    for (int round = 0; round != 200; ++round) {
        if (round == 100) before = allocation_count(); // the first rounds are the warm-up
        proxy one;
        backend->schedule(one, storage);
        CHECK(one.has_ended_well());
    }
    CHECK(allocation_count() == before);
}
#endif

#if defined(EKIDEN_TEST_SENDERS_stdexec)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("the backend has also the older name of its namespace") {
    namespace older = experimental::execution::system_context_replaceability;
    CHECK(dynamic_cast<const void*>(older::query_parallel_scheduler_backend().get())
          == dynamic_cast<const void*>(replacement::query_parallel_scheduler_backend().get()));
}
#pragma GCC diagnostic pop
#endif

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

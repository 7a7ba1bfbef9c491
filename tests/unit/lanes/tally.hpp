/// Counts what happens to functions that a test posts.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace ekiden_test {

/// The number of functions that were called, and of functions that were destroyed, called or not. Each
/// function must be called at most once and destroyed exactly once.
struct tally {
    std::atomic<int> made{0};
    std::atomic<int> ran{0};
    std::atomic<int> gone{0};
    std::atomic<int> ran_twice{0};

    /// Returns a function that calls `body`.
    template <class F>
    [[nodiscard]] auto function(F body) {
        made.fetch_add(1);
        struct witness {
            tally& in;
            std::atomic<bool> has_run{false};
            explicit witness(tally& of) noexcept : in(of) {}
            witness(const witness&) = delete;
            witness& operator=(const witness&) = delete;
            ~witness() { in.gone.fetch_add(1); }
        };
        return [own = std::make_shared<witness>(*this), body = std::move(body)]() mutable {
            if (own->has_run.exchange(true)) own->in.ran_twice.fetch_add(1);
            own->in.ran.fetch_add(1);
            body();
        };
    }
    [[nodiscard]] auto function() {
        return function([] {});
    }
    /// Returns whether no function exists any more, and none has run twice.
    [[nodiscard]] bool is_settled() const { return gone.load() == made.load() && ran_twice.load() == 0; }
};

} // namespace ekiden_test

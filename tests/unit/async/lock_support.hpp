// What the tests of awaited locks share: coroutines begun on a pool, with a stop and a deadline.
#pragma once

#include "run_coroutine.hpp"

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace lock_support {

// root() is no template, because each coroutine takes the compiler long.
using body = std::function<ekiden::coroutine<>()>;

/// The frame keeps the body for as long as its coroutine lives. `ended` counts the frames that have ended.
inline ekiden::detail::root_coroutine root(body b, std::atomic<int>& ended) {
    struct count {
        std::atomic<int>& ended;
        ~count() { ended.fetch_add(1); }
    } counted{ended};
    co_await b();
}

/// Coroutines of a test, waited for at its end.
class spawner {
public:
    explicit spawner(ekiden::any_executor where, ekiden::stop_state* stop = nullptr) noexcept
        : where_(std::move(where)), stop_(stop) {}
    spawner(const spawner&) = delete;
    spawner& operator=(const spawner&) = delete;
    ~spawner() { join(); }

    void spawn(body b) { spawn(where_, stop_, std::move(b)); }
    void spawn(const ekiden::any_executor& where, ekiden::stop_state* stop, body b) {
        ++begun_;
        auto& promise = root(std::move(b), ended_).promise();
        promise.given_environment().stop = stop;
        promise.begin(where);
    }
    [[nodiscard]] int running() const noexcept { return begun_ - ended_; }
    void join() const noexcept {
        while (running() > 0) std::this_thread::yield();
    }

private:
    ekiden::any_executor where_;
    ekiden::stop_state* stop_;
    int begun_ = 0;
    std::atomic<int> ended_{0};
};

} // namespace lock_support

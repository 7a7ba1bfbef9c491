/// What tests of composed coroutines need: something to wait for, and a root to begin with.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/group.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/promise.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden_test {

/// Counts those that are alive, among them the captures and the locals of coroutines.
struct witness {
    std::atomic<int>* alive;
    explicit witness(std::atomic<int>& count) noexcept : alive(&count) { ++*alive; }
    witness(const witness& other) noexcept : alive(other.alive) { ++*alive; }
    ~witness() { --*alive; }
    witness& operator=(const witness&) = delete;
};

// ---- roots

template <class F, class T>
ekiden::detail::root_coroutine root_of(std::optional<F> f, ekiden::promise<T> result) {
    std::exception_ptr error; // not kept here: whoever gets it, ends it
    try {
        if constexpr (std::is_void_v<T>) {
            co_await (*f)();
            f.reset();
            result.set_value();
        } else {
            T value = co_await (*f)();
            f.reset();
            result.set_value(std::move(value));
        }
    } catch (...) {
        error = std::current_exception();
    }
    if (error) result.set_exception(std::move(error));
}

/// Begins the coroutine that `f` gives on `where`. The future has its result; std::future_error, if the
/// coroutine was dropped.
template <class F>
auto begin_on(const ekiden::any_executor& where, F f, ekiden::stop_state* stop = nullptr) {
    using result = ekiden::detail::result_of_source<F>;
    ekiden::promise<result> given;
    ekiden::future<result> got = given.get_future();
    auto& begun = root_of<F, result>(std::optional<F>(std::move(f)), std::move(given)).promise();
    begun.given_environment().stop = stop;
    begun.begin(where);
    return got;
}
template <class F>
auto run_on(const ekiden::any_executor& where, F f, ekiden::stop_state* stop = nullptr) {
    return begin_on(where, std::move(f), stop).get();
}

// ---- a gate: closed at first, opened once. A wait honours the stop.

class gate {
public:
    class [[nodiscard]] wait_awaiter {
    public:
        static constexpr bool comes_home = true;
        explicit wait_awaiter(gate& of) : gate_(of), node_(of, *this) {}
        ~wait_awaiter() {
            const std::lock_guard guard(gate_.mutex_);
            std::erase(gate_.waiting_, this);
        }
        wait_awaiter(const wait_awaiter&) = delete;
        wait_awaiter& operator=(const wait_awaiter&) = delete;

        [[nodiscard]] static bool await_ready() noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> waiting) {
            home_.bind(waiting);
            ekiden::stop_state* const stop = home_.env().stop;
            const std::unique_lock guard(gate_.mutex_); // the callback waits for it
            if (gate_.is_open_) return false;
            if (stop != nullptr && !node_.arm(*stop)) {
                is_stopped_ = true;
                home_.resume();
                return true;
            }
            gate_.waiting_.push_back(this);
            return true;
        }
        void await_resume() {
            node_.disarm();
            if (is_stopped_) throw ekiden::operation_canceled("gate::wait");
        }

    private:
        friend class gate;
        struct node : ekiden::stop_node {
            node(gate& g, wait_awaiter& a) : stop_node(&stop), of(g), own(a) {}
            static void stop(stop_node& self) noexcept {
                auto& here = static_cast<node&>(self);
                here.of.stop(here.own);
            }
            gate& of;
            wait_awaiter& own;
        };

        gate& gate_;
        node node_;
        ekiden::suspension home_;
        bool is_stopped_ = false;
    };

    [[nodiscard]] wait_awaiter wait() { return wait_awaiter(*this); }
    void open() {
        std::vector<wait_awaiter*> all;
        const std::lock_guard guard(mutex_);
        is_open_ = true;
        all.swap(waiting_);
        for (wait_awaiter* const each : all) each->home_.resume();
    }
    [[nodiscard]] std::size_t waiting() {
        const std::lock_guard guard(mutex_);
        return waiting_.size();
    }

private:
    void stop(wait_awaiter& one) {
        const std::lock_guard guard(mutex_);
        if (std::erase(waiting_, &one) == 0) return; // it is let through
        one.is_stopped_ = true;
        one.home_.resume();
    }

    std::mutex mutex_;
    bool is_open_ = false;
    std::vector<wait_awaiter*> waiting_;
};

/// Coroutines to compose.
inline ekiden::coroutine<int> number(int n) { co_return n; }
inline ekiden::coroutine<int> number_behind(gate& g, int n) {
    co_await g.wait();
    co_return n;
}
inline ekiden::coroutine<> wait_at(gate& g) { co_await g.wait(); }

/// Yields until `is_so()`.
template <class Condition>
void until(Condition is_so) {
    while (!is_so()) std::this_thread::yield();
}

} // namespace ekiden_test

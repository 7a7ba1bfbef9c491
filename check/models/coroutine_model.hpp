/// What models of coroutines need: a gate to wait at, and roots, on a context that the model's threads run.
#pragma once

#include <check/engine/model.hpp>
#include <check/models/context_model.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <coroutine>
#include <mutex>
#include <utility>

namespace coroutine_model {

using namespace context_model;

/// One coroutine waits here until it is opened or stopped.
class model_gate {
public:
    class [[nodiscard]] wait_awaiter {
    public:
        static constexpr bool comes_home = true;
        explicit wait_awaiter(model_gate& of) : gate_(of), node_(of) {}
        [[nodiscard]] static bool await_ready() noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> waiting) {
            home_.bind(waiting);
            stop_state* const stop = home_.env().stop;
            const std::lock_guard guard(gate_.lock_);
            if (gate_.is_open_) return false;
            if (stop != nullptr && !node_.arm(*stop)) {
                is_stopped_ = true;
                home_.resume();
            } else {
                gate_.waiting_ = this;
            }
            return true;
        }
        /// False: it was stopped.
        [[nodiscard]] bool await_resume() {
            (void)node_.disarm();
            return !is_stopped_;
        }

    private:
        friend class model_gate;
        struct node : stop_node {
            explicit node(model_gate& g) : stop_node(&stop), gate(g) {}
            static void stop(stop_node& self) noexcept { static_cast<node&>(self).gate.let_go(true); }
            model_gate& gate;
        };

        model_gate& gate_;
        node node_;
        suspension home_;
        bool is_stopped_ = false;
    };

    [[nodiscard]] wait_awaiter wait() { return wait_awaiter(*this); }
    void open() { let_go(false); }

private:
    void let_go(bool is_stopped) {
        const std::lock_guard guard(lock_);
        if (!is_stopped) is_open_ = true;
        wait_awaiter* const one = std::exchange(waiting_, nullptr);
        if (one == nullptr) return;
        one->is_stopped_ = is_stopped;
        one->home_.resume();
    }

    sys::slow_lock lock_;
    bool is_open_ = false;
    wait_awaiter* waiting_ = nullptr;
};

/// Awaits what `f()` gives; `f` outlives it.
template <class F>
detail::root_coroutine root_of(F& f) {
    co_await f();
}

/// Posts it to the context.
template <class F>
void begin(model_context& context, F& f, stop_state* stop = nullptr) {
    auto& root = root_of(f).promise();
    root.given_environment().stop = stop;
    root.begin(context.get_executor());
}

} // namespace coroutine_model

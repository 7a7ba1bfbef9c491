// The stop of coroutines without coroutines: who is told, in which order, and who may go when.
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/future/operation_canceled.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using ekiden::stop_node;
using ekiden::stop_state;

// Calls a function of the test, once.
template <class F>
class telling : public stop_node {
public:
    explicit telling(F f) : stop_node(&call), f_(std::move(f)) {}

private:
    static void call(stop_node& self) noexcept {
        F f(std::move(static_cast<telling&>(self).f_)); // it may destroy the node
        f();
    }
    F f_;
};

} // namespace

TEST_CASE("a stop is requested once, and stays so") {
    stop_state state;
    CHECK_FALSE(state.stop_requested());
    CHECK(state.request_stop());
    CHECK(state.stop_requested());
    CHECK_FALSE(state.request_stop());
    CHECK(state.stop_requested());
}

TEST_CASE("each armed node is called once, the oldest first, and one that is disarmed is not") {
    stop_state state;
    std::string calls;
    telling first([&] { calls += 'a'; });
    telling second([&] { calls += 'b'; });
    telling third([&] { calls += 'c'; });
    CHECK(first.arm(state));
    CHECK(second.arm(state));
    CHECK(third.arm(state));
    CHECK(second.disarm());
    CHECK(state.request_stop());
    CHECK(calls == "ac");
    CHECK_FALSE(first.disarm());
    CHECK(second.disarm());
    CHECK_FALSE(third.disarm());
    CHECK_FALSE(third.disarm()); // again: the same answer
}

TEST_CASE("a node that comes after the stop is refused and not called") {
    stop_state state;
    state.request_stop();
    bool is_called = false;
    telling late([&] { is_called = true; });
    CHECK_FALSE(late.arm(state));
    CHECK(late.disarm());
    CHECK_FALSE(is_called);
}

TEST_CASE("a node can be armed again, also with another state") {
    stop_state state;
    stop_state other;
    int calls = 0;
    telling node([&] { ++calls; });
    CHECK(node.arm(state));
    CHECK(node.disarm());
    CHECK(node.arm(state));
    state.request_stop();
    CHECK_FALSE(node.disarm());
    CHECK(node.arm(other));
    CHECK(node.disarm());
    other.request_stop();
    CHECK(calls == 1);
}

TEST_CASE("a child is stopped with its parent, a parent not with its child") {
    stop_state parent;
    stop_state child(&parent);
    stop_state grandchild(&child);
    stop_state sibling(&parent);
    CHECK(sibling.request_stop());
    CHECK_FALSE(parent.stop_requested());
    CHECK_FALSE(child.stop_requested());
    bool is_called = false;
    telling node([&] { is_called = true; });
    CHECK(node.arm(grandchild));
    CHECK(parent.request_stop());
    CHECK(child.stop_requested());
    CHECK(is_called);
    const stop_state late(&grandchild);
    CHECK(late.stop_requested());
    node.disarm();
}

TEST_CASE("a child that has gone is not stopped") {
    stop_state parent;
    for (int i = 0; i != 3; ++i) {
        const stop_state child(&parent);
    }
    CHECK(parent.request_stop());
}

TEST_CASE("rule: stop callbacks do not deadlock: two sources that cancel each other end") {
    SUBCASE("in one thread") {
        stop_state one;
        stop_state other;
        int calls = 0;
        telling to_other([&] { calls += static_cast<int>(other.request_stop()) + 1; });
        telling to_one([&] { calls += static_cast<int>(one.request_stop()) + 1; });
        CHECK(to_other.arm(one));
        CHECK(to_one.arm(other));
        CHECK(one.request_stop());
        CHECK(calls == 3);
    }
    SUBCASE("in two threads") {
        for (int i = ekiden_test::rounds(500); i != 0; --i) {
            stop_state one;
            stop_state other;
            std::atomic<int> firsts{0};
            telling to_other([&] { firsts += static_cast<int>(other.request_stop()); });
            telling to_one([&] { firsts += static_cast<int>(one.request_stop()); });
            CHECK(to_other.arm(one));
            CHECK(to_one.arm(other));
            std::thread thread([&] { firsts += static_cast<int>(other.request_stop()); });
            firsts += static_cast<int>(one.request_stop());
            thread.join();
            REQUIRE(firsts == 2);
        }
    }
}

TEST_CASE("rule: registration nodes and states are destroyed inside of a callback with no lock held") {
    SUBCASE("the node itself") {
        stop_state state;
        std::optional<telling<std::function<void()>>> node;
        int calls = 0;
        node.emplace([&] {
            node.reset();
            ++calls;
        });
        CHECK(node->arm(state));
        telling after([&] { ++calls; });
        CHECK(after.arm(state));
        CHECK(state.request_stop());
        CHECK(calls == 2);
        after.disarm();
    }
    SUBCASE("another node of the same state, which is not called then") {
        stop_state state;
        bool is_called = false;
        std::optional<telling<std::function<void()>>> other;
        telling node([&] { other.reset(); });
        other.emplace([&] { is_called = true; });
        CHECK(node.arm(state));
        CHECK(other->arm(state));
        CHECK(state.request_stop());
        CHECK_FALSE(is_called);
        node.disarm();
    }
    SUBCASE("a child state with its node, by the callback of the latter") {
        stop_state parent;
        auto child = std::make_unique<stop_state>(&parent);
        std::optional<telling<std::function<void()>>> node;
        node.emplace([&] {
            node.reset();
            child.reset();
        });
        CHECK(node->arm(*child));
        CHECK(parent.request_stop());
        CHECK(child == nullptr);
    }
    SUBCASE("the state that calls, and all above") {
        auto parent = std::make_unique<stop_state>();
        auto child = std::make_unique<stop_state>(parent.get());
        std::optional<telling<std::function<void()>>> node;
        node.emplace([&] {
            node.reset();
            child.reset();
            parent.reset();
        });
        CHECK(node->arm(*child));
        CHECK(parent->request_stop());
        CHECK(parent == nullptr);
    }
}

TEST_CASE("after disarm the callback neither runs nor will run") {
    for (int i = ekiden_test::rounds(1000); i != 0; --i) {
        auto state = std::make_unique<stop_state>();
        auto watched = std::make_unique<int>(0); // plain: the sanitizers see a callback that is late
        telling node([&] { ++*watched; });
        REQUIRE(node.arm(*state));
        std::atomic<bool> is_requesting{false};
        std::thread thread([&, s = state.get()] {
            is_requesting = true;
            s->request_stop();
        });
        while (!is_requesting) std::this_thread::yield();
        const bool is_in_time = node.disarm();
        REQUIRE(*watched == (is_in_time ? 0 : 1));
        watched.reset();
        thread.join();
    }
}

TEST_CASE("a state goes while another thread is still in its request_stop") {
    for (int i = ekiden_test::rounds(1000); i != 0; --i) {
        auto state = std::make_unique<stop_state>();
        std::atomic<bool> is_called{false};
        auto node = std::make_unique<telling<std::function<void()>>>([&] { is_called = true; });
        REQUIRE(node->arm(*state));
        std::thread thread([s = state.get()] { s->request_stop(); });
        while (!is_called) std::this_thread::yield();
        node.reset();
        state.reset();
        thread.join();
    }
}

TEST_CASE("nodes and children come and go in some threads while others stop") {
    for (int i = ekiden_test::rounds(1000); i != 0; --i) {
        stop_state root;
        std::atomic<int> called{0};
        std::atomic<int> refused{0};
        std::atomic<int> in_time{0};
        const int count = 40;
        std::vector<std::thread> threads;
        for (int t = 0; t != 2; ++t) {
            threads.emplace_back([&] {
                for (int k = 0; k != count; ++k) {
                    stop_state child(&root);
                    telling node([&] { ++called; });
                    if (!node.arm(child))
                        ++refused;
                    else if (node.disarm())
                        ++in_time;
                }
            });
        }
        root.request_stop();
        for (auto& thread : threads) thread.join();
        REQUIRE(called + refused + in_time == 2 * count);
    }
}

TEST_CASE("operation_canceled is a system_error with the code of that name") {
    try {
        throw ekiden::operation_canceled("sleep_for");
    } catch (const std::system_error& error) {
        CHECK(error.code() == std::errc::operation_canceled);
        CHECK(std::string(error.what()).find("sleep_for") != std::string::npos);
    }
}

// stop_state: the request against arm, disarm and the end of nodes and states, from two threads. A callback
// that is late touches what has gone, which the engine reports.
#include <check/engine/model.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <utility>

namespace stop_state_models {

namespace {

using namespace ekiden;

/// Counts its calls in plain data.
class counting : public stop_node {
public:
    counting() : stop_node(&call) {}
    sys::cell<int> calls{0};

private:
    static void call(stop_node& self) noexcept {
        auto& calls = static_cast<counting&>(self).calls;
        calls.write(calls.read() + 1);
    }
};

/// Tells another thread, which may then destroy it.
class telling : public stop_node {
public:
    explicit telling(sys::atomic<bool>& told) : stop_node(&call), told_(told) {}

private:
    static void call(stop_node& self) noexcept {
        static_cast<telling&>(self).told_.store(true, sys::release);
    }
    sys::atomic<bool>& told_;
};

/// Stops another state.
class forwarding : public stop_node {
public:
    forwarding(stop_state& other, int& firsts) : stop_node(&call), other_(other), firsts_(firsts) {}

private:
    static void call(stop_node& self) noexcept {
        auto& here = static_cast<forwarding&>(self);
        here.firsts_ += static_cast<int>(here.other_.request_stop());
    }
    stop_state& other_;
    int& firsts_;
};

} // namespace

EKIDEN_MODEL(stop_against_disarm, .about = "after disarm the callback neither runs nor will run",
             .preemptions = 3, .timeouts = 0) {
    stop_state state;
    auto node = std::make_unique<counting>();
    check::that(node->arm(state), "no stop yet");
    sys::thread requester([&] { state.request_stop(); });
    const bool is_in_time = node->disarm();
    check::that(node->calls.read() == (is_in_time ? 0 : 1), "called, or disarmed in time");
    node.reset();
    requester.join();
}

EKIDEN_MODEL(stop_against_arm, .about = "a node that is armed while the stop comes is called or refused",
             .preemptions = 3, .timeouts = 0) {
    stop_state state;
    sys::cell<int> written{0};
    counting node;
    sys::thread requester([&] {
        written.write(1);
        check::that(state.request_stop(), "the only request");
    });
    const bool is_armed = node.arm(state);
    if (!is_armed) check::that(written.read() == 1, "what the requester did before");
    requester.join();
    check::that(node.disarm() != is_armed, "the callback has run if it was armed");
    check::that(node.calls.read() == (is_armed ? 1 : 0), "once");
}

EKIDEN_MODEL(stop_is_seen, .about = "what was done before the request is visible to who sees it",
             .preemptions = 3, .timeouts = 0) {
    stop_state state;
    counting node;
    check::that(node.arm(state), "no stop yet");
    sys::cell<int> written{0};
    sys::thread requester([&] {
        written.write(1);
        state.request_stop();
    });
    sys::thread other([&] { (void)node.disarm(); }); // may note itself as a sleeper in the word
    if (state.stop_requested()) check::that(written.read() == 1, "the write");
    other.join();
    requester.join();
}

EKIDEN_MODEL(stop_ends_under_its_requester,
             .about = "node and state go when the callback has told so, the requester being still in it",
             .preemptions = 3, .timeouts = 0) {
    sys::atomic<bool> told{false};
    auto state = std::make_unique<stop_state>();
    auto node = std::make_unique<telling>(told);
    check::that(node->arm(*state), "no stop yet");
    sys::thread requester([s = state.get()] { s->request_stop(); });
    while (!told.load(sys::acquire)) sys::yield();
    node.reset();
    state.reset();
    requester.join();
}

EKIDEN_MODEL(stop_ends_in_its_callback,
             .about = "the state goes while a callback still runs that has destroyed its own node",
             .preemptions = 3, .timeouts = 0) {
    struct self_ending : stop_node {
        explicit self_ending(sys::atomic<bool>& t) : stop_node(&call), told(t) {}
        static void call(stop_node& self) noexcept {
            auto* const own = static_cast<self_ending*>(&self);
            sys::atomic<bool>& told = own->told;
            delete own;
            told.store(true, sys::release);
        }
        sys::atomic<bool>& told;
    };
    sys::atomic<bool> told{false};
    auto state = std::make_unique<stop_state>();
    auto node = std::make_unique<self_ending>(told);
    check::that(node->arm(*state), "no stop yet");
    (void)node.release();
    sys::thread requester([s = state.get()] { s->request_stop(); });
    while (!told.load(sys::acquire)) sys::yield();
    state.reset();
    requester.join();
}

EKIDEN_MODEL(stop_goes_down, .about = "a child that ends while its parent is stopped", .preemptions = 3,
             .timeouts = 0) {
    stop_state parent;
    sys::thread requester([&] { parent.request_stop(); });
    {
        auto child = std::make_unique<stop_state>(&parent);
        auto node = std::make_unique<counting>();
        if (node->arm(*child)) {
            const bool is_in_time = node->disarm();
            check::that(node->calls.read() == (is_in_time ? 0 : 1), "called, or disarmed in time");
        } else {
            check::that(node->calls.read() == 0, "refused");
        }
        node.reset();
        child.reset();
    }
    requester.join();
}

EKIDEN_MODEL(stop_two_each_other, .about = "two states that stop each other, requested by two threads",
             .preemptions = 3, .timeouts = 0) {
    stop_state one;
    stop_state other;
    int firsts = 0; // one real thread
    forwarding to_other(other, firsts);
    forwarding to_one(one, firsts);
    check::that(to_other.arm(one) && to_one.arm(other), "no stop yet");
    sys::thread second([&] { firsts += static_cast<int>(other.request_stop()); });
    firsts += static_cast<int>(one.request_stop());
    second.join();
    check::that(firsts == 2, "each was requested first by one");
    (void)to_other.disarm();
    (void)to_one.disarm();
}

// What a sleeper reads of the word before it takes the lock is a hint, so that load buffering is not
// reported.
EKIDEN_MODEL(stop_two_wait, .load_buffering = false,
             .about = "two threads that wait for callbacks of a third one all go on", .preemptions = 2,
             .timeouts = 0) {
    stop_state state;
    counting one;
    counting other;
    check::that(one.arm(state) && other.arm(state), "no stop yet");
    sys::thread requester([&] { state.request_stop(); });
    sys::thread second([&] {
        const bool is_in_time = other.disarm();
        check::that(other.calls.read() == (is_in_time ? 0 : 1), "called, or disarmed in time");
    });
    const bool is_in_time = one.disarm();
    check::that(one.calls.read() == (is_in_time ? 0 : 1), "called, or disarmed in time");
    second.join();
    requester.join();
}

} // namespace stop_state_models

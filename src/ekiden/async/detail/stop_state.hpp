/// A stop request for coroutines. A stop request consists of a flag, and of callbacks that are called when
/// the flag is set.
///
/// Part: async. Used by: environment, awaiters. The classes are modeled on std::stop_source and
/// std::stop_callback, but neither allocate memory nor count references. A stop_state may have a parent, so
/// that a stop request goes down a tree of states. stop.md describes the protocol.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;

/// A registration of a callback with a stop_state. Only one thread at a time may use a stop_node. At the same
/// time, other threads may call request_stop() of the state.
class stop_node {
public:
    /// The type of the callback. The callback is called once, by the thread that requests the stop. The
    /// library holds no lock during the call. The callback must not wait for another thread. The callback may
    /// destroy the node.
    using callback = void (*)(stop_node& self) noexcept;

    explicit stop_node(callback call) noexcept : call_(call) {}
    /// Calls disarm().
    ~stop_node() {
        if (state_ != nullptr) (void)disarm();
    }
    stop_node(const stop_node&) = delete;
    stop_node& operator=(const stop_node&) = delete;

    /// Registers the callback with `state`. Another thread may call the callback before arm() returns. If a
    /// stop has already been requested, arm() returns false and registers nothing. The node must not be armed
    /// already. The state must exist until disarm() is called.
    [[nodiscard]] bool arm(stop_state& state) noexcept;

    /// Removes the registration. If another thread is running the callback, waits until the callback returns.
    /// After disarm() has returned, no other thread runs the callback, and the effects of the callback are
    /// visible. Returns false if the callback has run, or if the calling thread is inside the callback.
    bool disarm() noexcept;

private:
    friend class stop_state;

    const callback call_;
    stop_state* state_ = nullptr; // the state with which the callback is registered, or null
    stop_node* next_;             // next node in the circular list of the state, or null if not in the list
    stop_node* prev_;
    bool has_run_ = false; // true if the callback has begun
};

/// The state of a stop request. A stop request cannot be withdrawn. A check for a stop request costs one
/// load. All functions are thread-safe, except the constructor and the destructor.
class stop_state {
public:
    stop_state() noexcept : stop_state(nullptr) {}
    /// Constructs a state. A stop request to `parent` is also a stop request to this state. The parent must
    /// outlive this state. If `parent` is null, the state has no parent.
    explicit stop_state(stop_state* parent) noexcept;
    /// All nodes must have been disarmed. If another thread is in request_stop(), the destructor waits until
    /// that thread no longer uses the state. A callback may destroy the state.
    ~stop_state();
    stop_state(const stop_state&) = delete;
    stop_state& operator=(const stop_state&) = delete;

    [[nodiscard]] bool stop_requested() const noexcept {
        // [SR1] Acquire: this thread sees everything that the requesting thread did before the request. Pairs
        // with the release in request_stop().
        return (word_.load(sys::acquire) & requested) != 0;
    }

    /// Unlinks the state from its parent. Afterwards the parent may be destroyed. If another thread is
    /// passing a stop request from the parent to this state, waits until this state has processed the
    /// request.
    void leave_parent() noexcept { (void)link_.disarm(); }

    /// Requests the stop, and calls the callbacks of all armed nodes, the oldest node first. Returns false if
    /// a stop had already been requested. In this case, another thread may still be calling the callbacks. A
    /// callback may destroy the state.
    bool request_stop() noexcept;

private:
    friend class stop_node;

    class parent_link final : public stop_node {
    public:
        explicit parent_link(stop_state& child) noexcept : stop_node(&stop_child), child_(child) {}

    private:
        static void stop_child(stop_node& self) noexcept {
            (void)static_cast<parent_link&>(self).child_.request_stop();
        }
        stop_state& child_;
    };
    struct calling;

    // Bit 0 of word_ is set if a stop has been requested. Bit 1 of word_ is set if a thread sleeps until a
    // callback has returned. The other bits of word_ count how often sleepers were woken. A thread must hold
    // the lock to change word_.
    static constexpr std::uint32_t requested = 1;
    static constexpr std::uint32_t has_sleepers = 2;

    bool add(stop_node& fresh) noexcept;
    void remove(stop_node& node) noexcept;

    // The caller of the next functions must hold the lock.
    using lock_guard = std::unique_lock<sys::slow_lock>;
    void unlink(stop_node& node) noexcept;
    template <class Condition>
    void sleep_while(lock_guard& guard, Condition is_so) noexcept;
    void wake_sleepers() noexcept;

    sys::atomic<std::uint32_t> word_{0};
    sys::slow_lock lock_;
    stop_node* first_ = nullptr; // the oldest node in the circular list of armed nodes
    calling* calling_ = nullptr; // an object on the stack of the thread that calls the callbacks, or null
    parent_link link_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// The stop of coroutines: a flag, and the callbacks to call when it is set.
///
/// Part: async. Used by: environment (points to one), every awaiter that waits (has a stop_node). Modeled on
/// std::stop_source and std::stop_callback, but without allocation and reference counts. A state may be
/// linked to a parent, so that a stop goes down a tree. The protocol: stop.md.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;

/// A registration with a stop_state. One thread at a time uses it. Meanwhile other threads may call
/// request_stop().
class stop_node {
public:
    /// Called once, by the thread that requests the stop, with no lock held. It must not wait for another
    /// thread. It may destroy the node.
    using callback = void (*)(stop_node& self) noexcept;

    explicit stop_node(callback call) noexcept : call_(call) {}
    /// Calls disarm().
    ~stop_node() {
        if (state_ != nullptr) (void)disarm();
    }
    stop_node(const stop_node&) = delete;
    stop_node& operator=(const stop_node&) = delete;

    /// Registers the callback. A stop may call it before this call returns. Returns false if the stop has
    /// been requested already; then nothing is registered. The node must not be armed. The state must exist
    /// until the next disarm().
    [[nodiscard]] bool arm(stop_state& state) noexcept;

    /// Removes the registration. If another thread runs the callback, waits until it returns. Afterwards the
    /// callback does not run any more, and its effects are visible. Returns false if it has run, or runs
    /// further out in this thread.
    bool disarm() noexcept;

private:
    friend class stop_state;

    const callback call_;
    stop_state* state_ = nullptr; // from arm() to disarm()
    stop_node* next_;             // set by arm(): the state's ring, the oldest first; null: in no ring
    stop_node* prev_;
    bool has_run_ = false; // the callback has begun
};

/// A stop request stays set. Checking it is one load. Thread-safe, except construction and destruction.
class stop_state {
public:
    stop_state() noexcept : stop_state(nullptr) {}
    /// Makes a state that is stopped with `parent`, which must outlive it. Null means no parent.
    explicit stop_state(stop_state* parent) noexcept;
    /// All nodes must have been disarmed. Waits until a request_stop() in another thread no longer uses the
    /// state. May be called inside a callback.
    ~stop_state();
    stop_state(const stop_state&) = delete;
    stop_state& operator=(const stop_state&) = delete;

    [[nodiscard]] bool stop_requested() const noexcept {
        // [SR1] Acquire: what the requesting thread did before. Pairs with the release in request_stop().
        return (word_.load(sys::acquire) & requested) != 0;
    }

    /// Unlinks the state from its parent, which may then be destroyed. If another thread is passing the
    /// parent's stop on, waits until that has ended.
    void leave_parent() noexcept { (void)link_.disarm(); }

    /// Calls the callbacks of all armed nodes, the oldest first. Returns false if the stop had been requested
    /// before; another thread may still be calling the callbacks. A callback may destroy the state.
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

    // word_: bit 0, the stop is requested. Bit 1, a thread sleeps until a callback has returned. The other
    // bits count the returns for which threads have slept. It is changed under the lock.
    static constexpr std::uint32_t requested = 1;
    static constexpr std::uint32_t has_sleepers = 2;

    bool add(stop_node& fresh) noexcept;
    void remove(stop_node& node) noexcept;

    // With the lock:
    using lock_guard = std::unique_lock<sys::slow_lock>;
    void unlink(stop_node& node) noexcept;
    template <class Condition>
    void sleep_while(lock_guard& guard, Condition is_so) noexcept;
    void wake_sleepers() noexcept;

    sys::atomic<std::uint32_t> word_{0};
    sys::slow_lock lock_;
    stop_node* first_ = nullptr; // the oldest armed node, in a ring
    calling* calling_ = nullptr; // on the stack of the thread that calls the callbacks
    parent_link link_;
};

} // namespace ekiden::inline EKIDEN_ABI

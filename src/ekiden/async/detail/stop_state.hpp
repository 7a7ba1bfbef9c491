/// Whether something is to stop, and who is told: the stop of coroutines.
///
/// Part: async. Used by: environment (points to one), every awaiter that waits (holds a stop_node).
/// After std::stop_source and std::stop_callback, but in place: no memory, no counting of references. A state
/// is linked to a parent, so that a stop goes down a tree. The protocol: stop.md.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;

/// A registration with a stop_state, in whatever is to be told. One thread at a time uses it; while that is
/// in arm() or disarm(), another one may be in request_stop().
class stop_node {
public:
    /// Called once, by the thread that requests the stop, with no lock held. It only posts: what it calls
    /// must not wait for another thread. The node may be destroyed inside of it.
    using callback = void (*)(stop_node& self) noexcept;

    explicit stop_node(callback call) noexcept : call_(call) {}
    /// As disarm().
    ~stop_node() {
        if (state_ != nullptr) (void)disarm();
    }
    stop_node(const stop_node&) = delete;
    stop_node& operator=(const stop_node&) = delete;

    /// From now on a stop calls the callback, maybe before this returns. False if the stop had been
    /// requested: nothing is called. Not while it is armed. The state is there until the next disarm().
    [[nodiscard]] bool arm(stop_state& state) noexcept;

    /// Afterwards the callback neither runs nor will run, and what it has done is visible. False if it has
    /// run, or runs further out in this thread. If another thread is in it, waits for its end.
    bool disarm() noexcept;

private:
    friend class stop_state;

    const callback call_;
    stop_state* state_ = nullptr; // from arm() to disarm()
    stop_node* next_;             // set by arm(): in a ring of the state, the oldest first; null: in none
    stop_node* prev_;
    bool has_run_ = false; // or begun
};

/// A level: once requested, it stays so. To ask is one load. Thread-safe, but for construction and
/// destruction.
class stop_state {
public:
    stop_state() noexcept : stop_state(nullptr) {}
    /// Stopped with `parent`, which lives longer; null: with none.
    explicit stop_state(stop_state* parent) noexcept;
    /// All nodes have been disarmed. Waits until a request_stop() in another thread has let go of it. May be
    /// called from inside a callback.
    ~stop_state();
    stop_state(const stop_state&) = delete;
    stop_state& operator=(const stop_state&) = delete;

    [[nodiscard]] bool stop_requested() const noexcept {
        // [SR1] acquire: what the requesting thread did before; pairs with the release in request_stop().
        return (word_.load(sys::acquire) & requested) != 0;
    }

    /// From now on the parent's stop does not reach this one, and the parent may go. If another thread is
    /// passing that stop on, waits for the end of that.
    void leave_parent() noexcept { (void)link_.disarm(); }

    /// Calls the callbacks of all that are armed, the oldest first. False: it had been requested; the other
    /// thread may still be calling them. The state may be destroyed in a callback.
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

    // word_: bit 0, the stop is requested; bit 1, some thread sleeps until a callback has ended; above that a
    // count of ends that sleepers have waited for. Changed under the lock.
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
    stop_node* first_ = nullptr; // armed, the oldest; a ring
    calling* calling_ = nullptr; // on the stack of the thread that calls the callbacks
    parent_link link_;
};

} // namespace ekiden::inline EKIDEN_ABI

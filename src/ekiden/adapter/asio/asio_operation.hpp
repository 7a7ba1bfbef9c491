/// The part of an awaited Asio operation that does not depend on Asio's types.
///
/// Part: adapter. Used by: await_asio. Private.
#pragma once

#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <optional>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The state of an Asio operation that a coroutine awaits. The state has its own memory, because Asio may
/// keep the handler longer than the awaiter exists. The awaiter, the handler and posted tasks own the state
/// together. The last owner destroys the state.
///
/// The awaiter initiates the operation and then calls begin_waiting(). Asio either calls the handler, or
/// destroys the handler without a call. Either can happen before or after begin_waiting(). The thread that
/// requests a stop does not cancel the operation itself, because Asio's cancellation is not thread-safe.
/// Instead that thread posts the cancellation to a strand. The handler and all steps of a composed operation
/// run on the same strand, so the cancellation runs between two steps of the operation.
///
/// Derived classes store the result and implement cancel().
class asio_operation {
public:
    asio_operation(const asio_operation&) = delete;
    asio_operation& operator=(const asio_operation&) = delete;

    /// This function must be called before all other functions. Returns true if a stop has already been
    /// requested. In that case, the caller must not begin the operation, and must call end_stopped() instead.
    template <class Promise>
    [[nodiscard]] bool bind(std::coroutine_handle<Promise> suspended) {
        way_home_.bind(suspended);
        stop_state* const stop = env().stop;
        if (stop == nullptr) return false;
        if (stop->stop_requested()) return true;
        serial_.emplace(env().executor);
        return false;
    }
    [[nodiscard]] const environment& env() const noexcept { return way_home_.env(); }
    [[nodiscard]] bool can_be_stopped() const noexcept { return serial_.has_value(); }
    /// Returns the executor on which the handler is called.
    [[nodiscard]] any_executor home() const {
        if (serial_) return *serial_;
        return env().executor;
    }
    /// Returns whether the root coroutine counts as work of the executor's context until the handler has been
    /// called.
    [[nodiscard]] bool is_work_of_root() const {
        const coroutine_service* const keeper = environment_access::keeper(env());
        return !can_be_stopped() && keeper != nullptr && &keeper->context() == &env().executor.context();
    }

    /// Resumes the coroutine although the operation has not begun.
    void end_stopped() noexcept {
        word_.store(called, sys::relaxed); // Relaxed is enough: no other thread refers to this operation yet.
        way_home_.resume();
    }

    /// The awaiter calls this function after initiating the operation. Returns false if the handler has
    /// already been called. In that case, the coroutine continues at once. Returns true if another thread
    /// resumes or destroys the coroutine. In that case, the awaiter may already be destroyed.
    [[nodiscard]] bool begin_waiting() noexcept {
        if (can_be_stopped() && !stop_.arm(*env().stop)) post_cancel();
        std::uint8_t seen = starting;
        // [AO1] Release: publishes the registration with the stop state and all effects of the initiation.
        // Acquire: if the result is already stored, this thread may read the result. Pairs with the exchange
        // in finish().
        if (word_.compare_exchange_strong(seen, waiting, sys::release, sys::acquire)) return true;
        if (seen == called) return false;
        way_home_.give_up(); // not abandon(), because the caller is the coroutine's await_suspend()
        return true;
    }

    /// The handler calls this function once. `is_called` is true if the handler has stored the result.
    /// `is_called` is false if the handler is destroyed without a call.
    void finish(bool is_called) noexcept {
        // [AO1] Release: publishes the result. Acquire: this thread sees everything that the coroutine did
        // before it suspended. Pairs with the compare-exchange in begin_waiting().
        const std::uint8_t before = word_.exchange(is_called ? called : dropped, sys::acq_rel);
        if (before != waiting) return; // begin_waiting() reads the new value, or the coroutine is destroyed
        if (!is_called && posting_scope::is_here())
            way_home_.give_up(); // accept() has dropped the handler, and this thread may hold a lock
        else if (!is_called)
            way_home_.abandon(); // Asio objects in the frames must not outlive Asio's context
        else if (!can_be_stopped() && &env() != &default_environment()
                 && env().executor.running_in_this_thread())
            way_home_.run(); // resumes the coroutine inside this call, as the executor does
        else
            way_home_.resume();
    }

    /// Unregisters the operation from the stop state. The awaiter calls this function when the coroutine
    /// resumes or the awaiter is destroyed.
    void disarm() noexcept { (void)stop_.disarm(); }
    /// The awaiter's destructor calls this function.
    void leave() noexcept {
        disarm();
        // [AO1] Relaxed is enough, because the executor, finish() or the destructor of the context has
        // already synchronized this thread with the handler. After the handler has been called, no thread
        // changes `word_`.
        if (word_.load(sys::relaxed) != called) {
            const std::uint8_t before = word_.exchange(left, sys::relaxed);
            // If the awaiter still waits, the destructor of the context destroys the awaiter. At that time,
            // no task of the context runs.
            if (before == waiting && can_be_stopped()) cancel_(*this);
        }
        drop();
    }

    /// Adds the handler as an owner. The awaiter calls this function while no other thread refers to the
    /// operation.
    void share() noexcept { owners_.store(2, sys::relaxed); }
    void keep() noexcept { owners_.fetch_add(1, sys::relaxed); } // Relaxed is enough: the caller is an owner.
    void drop() noexcept {
        // [AO2] acq_rel: makes the accesses of all owners happen before the destruction. Acquire: if the
        // count is 1, this thread is the last owner, and sees the accesses of all earlier owners. No owner
        // can be added, so this thread need not decrement the count.
        if (owners_.load(sys::acquire) == 1 || owners_.fetch_sub(1, sys::acq_rel) == 1) end_(*this);
    }

protected:
    using function = void (*)(asio_operation& self) noexcept;
    /// `cancel` cancels the operation in Asio, and `end` destroys the state. The state has one owner at
    /// first.
    asio_operation(function cancel, function end) noexcept
        : stop_(*this), cancel_task_(*this, &answer_cancel), cancel_(cancel), end_(end) {}
    ~asio_operation() = default;

private:
    enum : std::uint8_t {
        starting, // The awaiter initiates the operation.
        waiting,  // The coroutine is suspended. Set by begin_waiting().
        called,   // The result is stored. Set by finish().
        dropped,  // Asio has dropped the handler. Set by finish().
        left      // The awaiter is destroyed, so no result is needed. Set by leave().
    };

    struct part final : task {
        part(asio_operation& o, task::function answer) noexcept : task(answer), of(o) {}
        asio_operation& of;
    };
    struct registration final : stop_node {
        explicit registration(asio_operation& o) noexcept : stop_node(&on_stop), of(o) {}
        static void on_stop(stop_node& self) noexcept { static_cast<registration&>(self).of.post_cancel(); }
        asio_operation& of;
    };

    void post_cancel() noexcept {
        keep();
        // This is a copy, because the operation may be destroyed as soon as the strand has accepted the task.
        const auto where = *serial_;
        try {
            (void)accept_task(where, &cancel_task_, task_order::usual);
        } catch (...) { // accept_task() has abandoned the task
        }
    }

    /// Runs on the strand, so no other part of the operation runs at the same time. Has no effect if the
    /// operation has completed.
    static const char* answer_cancel(task* self, task_request request) {
        if (request == task_request::describe) return type_description<asio_operation>();
        asio_operation& own = static_cast<part*>(self)->of;
        if (request == task_request::run) {
            // [AO1] Relaxed is enough, because the handler runs on the same strand, and the strand orders the
            // handler and this task.
            const std::uint8_t now = own.word_.load(sys::relaxed);
            if (now == starting || now == waiting) own.cancel_(own);
        }
        own.drop();
        return nullptr;
    }

    sys::atomic<std::uint32_t> owners_{1};
    sys::atomic<std::uint8_t> word_{starting};
    suspension way_home_;
    std::optional<strand<any_executor>> serial_; // empty if the operation cannot be stopped
    registration stop_;
    part cancel_task_;
    const function cancel_;
    const function end_;
};

/// An owning pointer from the handler to the operation. The pointer can be moved, but not copied.
class operation_handle {
public:
    explicit operation_handle(asio_operation& of) noexcept : operation_(&of) { of.share(); }
    operation_handle(operation_handle&& other) noexcept
        : operation_(std::exchange(other.operation_, nullptr)) {}
    operation_handle& operator=(operation_handle&&) = delete;
    ~operation_handle() {
        if (operation_ != nullptr) finish(false);
    }
    [[nodiscard]] asio_operation& operator*() const noexcept { return *operation_; }
    void finish(bool is_called) noexcept {
        asio_operation& own = *std::exchange(operation_, nullptr);
        own.finish(is_called);
        own.drop();
    }

private:
    asio_operation* operation_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

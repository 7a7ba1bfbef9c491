/// An operation of Asio's that a coroutine awaits: the part that is independent of Asio's types.
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

/// It lies in a node of its own, because Asio may keep its handler for any time. The awaiter, the handler and
/// posted tasks share it. The last owner destroys it.
///
/// The awaiter initiates the operation and then calls begin_waiting(). The handler is called, or destroyed
/// without a call; either may come first. The thread that requests a stop does not cancel the operation,
/// because Asio's cancellation is not thread-safe. Instead it posts the cancellation to a strand. The handler
/// and all steps of a composed operation run on that strand, too, so the cancellation runs between them.
///
/// Derived classes have the result and cancel().
class asio_operation {
public:
    asio_operation(const asio_operation&) = delete;
    asio_operation& operator=(const asio_operation&) = delete;

    /// Called first. Returns whether a stop has been requested already. Then the operation must not begin,
    /// and end_stopped() ends it.
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
    /// Returns whether the root of the coroutine counts as work of that executor's context until the handler
    /// has been called there.
    [[nodiscard]] bool is_work_of_root() const noexcept {
        const coroutine_service* const keeper = environment_access::keeper(env());
        return !can_be_stopped() && keeper != nullptr && &keeper->context() == &env().executor.context();
    }

    /// Resumes the coroutine without having begun the operation.
    void end_stopped() noexcept {
        word_.store(called, sys::relaxed); // relaxed: no other thread refers to it
        way_home_.resume();
    }

    /// Called by the awaiter after it has initiated. Returns false if the handler has been called: the
    /// coroutine continues. Returns true if another thread resumes or destroys the coroutine. Then the
    /// awaiter may be destroyed already.
    [[nodiscard]] bool begin_waiting() noexcept {
        if (can_be_stopped() && !stop_.arm(*env().stop)) post_cancel();
        std::uint8_t seen = starting;
        // [AO1] release: the arming, and everything that initiating did. acquire: the result, if it is stored
        // already.
        if (word_.compare_exchange_strong(seen, waiting, sys::release, sys::acquire)) return true;
        if (seen == called) return false;
        way_home_.give_up(); // not on this stack
        return true;
    }

    /// Called by the handler once, when it has stored the result (`is_called`), or when it is destroyed
    /// without a call.
    void finish(bool is_called) noexcept {
        // [AO1] release: the result. acquire: what the coroutine did before it suspended.
        const std::uint8_t before = word_.exchange(is_called ? called : dropped, sys::acq_rel);
        if (before != waiting) return; // begin_waiting() finds it, or the coroutine has been destroyed
        if (!is_called && resume_record::here().is_posting)
            way_home_.give_up(); // dropped inside accept(), where a lock may be held
        else if (!is_called)
            way_home_.abandon(); // now: Asio's objects in the frames must not outlive its context
        else if (!can_be_stopped() && &env() != &default_environment()
                 && env().executor.running_in_this_thread())
            way_home_.run(); // like the executor
        else
            way_home_.resume();
    }

    /// Called by the awaiter when it is resumed or destroyed. Removes it from the stop.
    void disarm() noexcept { (void)stop_.disarm(); }
    /// Called by the awaiter's destructor.
    void leave() noexcept {
        disarm();
        // [AO1] relaxed: the executor, finish() or the end of the context has brought this thread here. Once
        // the handler has been called, no thread changes the word.
        if (word_.load(sys::relaxed) != called) {
            const std::uint8_t before = word_.exchange(left, sys::relaxed);
            // It is destroyed while it waits, by the end of its context. No task runs there any more.
            if (before == waiting && can_be_stopped()) cancel_(*this);
        }
        drop();
    }

    /// Adds the handler as an owner. Called by the awaiter; no other thread refers to the operation yet.
    void share() noexcept { owners_.store(2, sys::relaxed); }
    void keep() noexcept {
        owners_.fetch_add(1, sys::relaxed);
    } // relaxed: called by an owner, which orders it
    void drop() noexcept {
        // [AO2] acq_rel: what this owner did, and what the others did, before the destruction. acquire: the
        // same for the last owner; no other one can be added to it.
        if (owners_.load(sys::acquire) == 1 || owners_.fetch_sub(1, sys::acq_rel) == 1) end_(*this);
    }

protected:
    using function = void (*)(asio_operation& self) noexcept;
    /// `cancel` cancels the operation in Asio. The operation has one owner.
    asio_operation(function cancel, function end) noexcept
        : stop_(*this), cancel_task_(*this, &answer_cancel), cancel_(cancel), end_(end) {}
    ~asio_operation() = default;

private:
    // word_      meaning                                          set by
    // starting   the awaiter initiates                            -
    // waiting    the coroutine is suspended                       begin_waiting()
    // called     the result is stored                             finish()
    // dropped    Asio has dropped the handler                     finish()
    // left       the awaiter is destroyed: no result is needed    leave()
    enum : std::uint8_t { starting, waiting, called, dropped, left };

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
        const auto where = *serial_; // the operation may be destroyed once the task can be taken
        try {
            (void)accept_task(where, &cancel_task_, task_order::usual);
        } catch (...) { // the task has been abandoned
        }
    }

    /// Runs on the strand, so no other part of the operation runs meanwhile. Does nothing if the operation
    /// has ended.
    static const char* answer_cancel(task* self, task_request request) {
        if (request == task_request::describe) return type_description<asio_operation>();
        asio_operation& own = static_cast<part*>(self)->of;
        if (request == task_request::run) {
            // [AO1] relaxed: the handler is called on this strand.
            const std::uint8_t now = own.word_.load(sys::relaxed);
            if (now == starting || now == waiting) own.cancel_(own);
        }
        own.drop();
        return nullptr;
    }

    sys::atomic<std::uint32_t> owners_{1};
    sys::atomic<std::uint8_t> word_{starting};
    suspension way_home_;
    std::optional<strand<any_executor>> serial_; // if the operation can be stopped
    registration stop_;
    part cancel_task_;
    const function cancel_;
    const function end_;
};

/// The handler's ownership of an operation. It can be moved.
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

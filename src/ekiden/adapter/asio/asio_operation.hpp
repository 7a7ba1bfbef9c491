/// One operation of Asio's that a coroutine waits for: what the two have in common, without Asio.
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

/// Lies in a node of its own, for Asio keeps its handler as long as it likes. Belongs to the awaiter, to the
/// handler and to what is posted of it; the last of them ends it.
///
/// The awaiter initiates, then says begin_waiting(). The handler is called, or destroyed without that; either
/// may come first. A stop is not passed on by the thread that requests it: Asio's cancellation is no matter
/// of several threads. It is posted to a strand, by which the handler and all steps of a composed operation
/// come home too, so that it runs between them.
///
/// Derived classes have the result, and cancel().
class asio_operation {
public:
    asio_operation(const asio_operation&) = delete;
    asio_operation& operator=(const asio_operation&) = delete;

    /// Before anything else. After it: whether a stop has been requested already; then the operation is not
    /// begun, but ended by end_stopped().
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
    /// Where the handler wants to be called.
    [[nodiscard]] any_executor home() const {
        if (serial_) return *serial_;
        return env().executor;
    }
    /// Whether the root of the coroutine is work of that place until the handler has been called there.
    [[nodiscard]] bool is_work_of_root() const noexcept {
        const coroutine_service* const keeper = env().keeper;
        return !can_be_stopped() && keeper != nullptr && &keeper->context() == &env().executor.context();
    }

    /// Comes home with nothing begun.
    void end_stopped() noexcept {
        word_.store(called, sys::relaxed); // nobody else knows it
        way_home_.resume();
    }

    /// The awaiter, when it has initiated. False: the handler has been called, go on. True: the coroutine is
    /// resumed, or destroyed, by another; the awaiter may be gone.
    [[nodiscard]] bool begin_waiting() noexcept {
        if (can_be_stopped() && !stop_.arm(*env().stop)) post_cancel();
        std::uint8_t seen = starting;
        // [AO1] release: the arming, and what initiating did. acquire: the result, if it is there already.
        if (word_.compare_exchange_strong(seen, waiting, sys::release, sys::acquire)) return true;
        if (seen == called) return false;
        way_home_.give_up(); // not on this stack
        return true;
    }

    /// The handler, once, when it has stored the result (`is_called`), or when it is destroyed without that.
    void finish(bool is_called) noexcept {
        // [AO1] release: the result. acquire: what the coroutine did before it suspended.
        const std::uint8_t before = word_.exchange(is_called ? called : dropped, sys::acq_rel);
        if (before != waiting) return; // begin_waiting() finds it; or the coroutine is gone
        if (!is_called && resume_record::here().is_posting)
            way_home_.give_up(); // dropped inside of accept(), where a lock may be held
        else if (!is_called)
            way_home_.abandon(); // now, for what Asio has in the frames ends before Asio's context does
        else if (!can_be_stopped() && &env() != &default_environment()
                 && env().executor.running_in_this_thread())
            way_home_.run(); // as the executor would
        else
            way_home_.resume();
    }

    /// The awaiter, resumed or destroyed: it is out of the stop.
    void disarm() noexcept { (void)stop_.disarm(); }
    /// The awaiter, at its end.
    void leave() noexcept {
        disarm();
        // [AO1] relaxed: the executor, finish() or the end of the context has brought this thread here. Once
        // the handler has been called, nobody changes the word any more.
        if (word_.load(sys::relaxed) != called) {
            const std::uint8_t before = word_.exchange(left, sys::relaxed);
            // Destroyed while it waits, by the end of its context: nothing runs there any more.
            if (before == waiting && can_be_stopped()) cancel_(*this);
        }
        drop();
    }

    /// The handler's share, by the awaiter: nobody else knows the operation yet.
    void share() noexcept { owners_.store(2, sys::relaxed); }
    void keep() noexcept { owners_.fetch_add(1, sys::relaxed); } // by an owner, who orders it
    void drop() noexcept {
        // [AO2] acq_rel: what this owner did; what the others did, before the end. acquire: the same of the
        // last one, to which no other can be added.
        if (owners_.load(sys::acquire) == 1 || owners_.fetch_sub(1, sys::acq_rel) == 1) end_(*this);
    }

protected:
    using function = void (*)(asio_operation& self) noexcept;
    /// `cancel` passes a stop on to Asio. Has one owner.
    asio_operation(function cancel, function end) noexcept
        : stop_(*this), cancel_task_(*this, &answer_cancel), cancel_(cancel), end_(end) {}
    ~asio_operation() = default;

private:
    // word_      meaning                                          set by
    // starting   the awaiter initiates                            -
    // waiting    the coroutine is suspended                       begin_waiting()
    // called     the result is there                              finish()
    // dropped    Asio has dropped the handler                     finish()
    // left       the awaiter is gone, nobody wants the result     leave()
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
        const auto where = *serial_; // the operation may be gone when the task can be taken
        try {
            (void)where.accept(&cancel_task_, task_order::usual);
        } catch (...) { // it has been abandoned
        }
    }

    /// On the strand: nothing of the operation's runs meanwhile. What has ended has no use for it.
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
    std::optional<strand<any_executor>> serial_; // of what can be stopped
    registration stop_;
    part cancel_task_;
    const function cancel_;
    const function end_;
};

/// The handler's share of an operation. The first one; it can be moved.
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

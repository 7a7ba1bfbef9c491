/// The contexts that adapted executors need. An executor of ekiden needs an execution_context of Asio, and an
/// executor of Asio needs an ekiden context. Private to the adapter.
///
/// Part: adapter. Used by: to_asio, from_asio. The template parameter `Asio` is standalone_asio or
/// boost_asio. This struct contains the names of the included variant of Asio.
#pragma once

#include <ekiden/adapter/asio/asio_events.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The Asio context that belongs to an ekiden context. The first query for the Asio context constructs this
/// context. Asio stores its services in the Asio context.
///
/// If the ekiden context is a loop that only one thread runs, this thread also waits for system events (see
/// asio_events). For any other context, Asio starts one thread of its own for the first timer or socket.
/// Asio's thread waits for system events and passes completed operations to the executors of their handlers.
/// Without timers and sockets, Asio starts no thread.
///
/// The Asio context is destroyed together with the ekiden context. Before the destruction, shutdown() drops
/// the operations that wait in Asio's services, and joins Asio's thread. Sockets and timers of Asio must be
/// destroyed before the ekiden context. However, a handler or coroutine that the ekiden context drops may
/// contain a socket or timer of Asio. Such handlers and coroutines are destroyed while Asio's services still
/// exist.
template <class Asio>
class asio_side final : public execution_context::service {
public:
    explicit asio_side(execution_context& owner) : service(owner) {
        if constexpr (asio_has_events<Asio>) {
            if (may_bring_events(&kind)) events_.emplace(context_);
        }
    }

    [[nodiscard]] typename Asio::execution_context& asio_context() noexcept { return context_; }

private:
    void added() noexcept override {
        if constexpr (asio_has_events<Asio>) {
            if (events_) bring_events(*events_);
        }
    }
    void shutdown() noexcept override {
        if (events_) events_->end();
        // Asio itself would shut down its reactor first, and then join the thread that uses the reactor. The
        // shutdown and the thread could then both complete the same operation. So this function joins the
        // thread first. With a completion port, only one thread gets an operation. There, the thread must be
        // joined last, because its end waits for all operations, which end when Asio closes the sockets.
        if constexpr (!Asio::shutdown_waits_for_work) Asio::join_own_thread(context_);
        context_.shutdown();
    }

    static constexpr char kind = 0; // only the address of `kind` is used
    asio_own_context<Asio> context_;
    std::optional<asio_events<Asio>> events_;
};

template <class Asio>
class ekiden_side;

/// Clears the ekiden context that belongs to an Asio context. Asio shuts down all services, and then destroys
/// the newest service first. This service is the newest service of the Asio context. So coroutines with Asio
/// objects are destroyed while Asio's other services still exist. At that time, no queue contains a task of
/// these coroutines.
template <class Asio>
class clears_ekiden_side final : public Asio::execution_context::service {
public:
    static inline typename Asio::execution_context::id id;

    explicit clears_ekiden_side(typename Asio::execution_context& owner)
        : Asio::execution_context::service(owner),
          side_(Asio::template use_service<ekiden_side<Asio>>(owner)) {}
    ~clears_ekiden_side() override { side_.clear(); }

private:
    void shutdown() override {}

    ekiden_side<Asio>& side_;
};

/// The ekiden context that belongs to an Asio context. The ekiden context has services, so it supports
/// timers. The ekiden context is itself a service of Asio's context, so both contexts are destroyed together.
template <class Asio>
class ekiden_side final : public Asio::execution_context::service, public execution_context {
    using asio_service = typename Asio::execution_context::service;

public:
    static inline typename Asio::execution_context::id id;

    explicit ekiden_side(typename Asio::execution_context& owner) : asio_service(owner) {}

    /// Adds 1 to the count of outstanding work. `tracked()` returns a copy of an executor. This copy counts
    /// as work in Asio. The context stores the copy until the count is 0 again. Any thread may call this
    /// function. Throws std::bad_alloc, and whatever `tracked` throws.
    template <class Tracked>
    void work_started(const Tracked& tracked) {
        const std::lock_guard guard(counting_);
        if (count_ == 0) kept_ = std::make_shared<decltype(tracked())>(tracked());
        ++count_;
    }
    void work_finished() noexcept {
        std::shared_ptr<void> dropped; // is declared first, so that it is destroyed after the unlock
        const std::lock_guard guard(counting_);
        if (--count_ == 0) dropped = std::move(kept_);
    }

    /// The service clears_ekiden_side calls this function when Asio's services have been shut down but still
    /// exist. After this call, the context refuses tasks. Otherwise Asio would keep a task after the
    /// destruction of objects that the task refers to.
    void clear() noexcept {
        is_cleared_.store(true, sys::relaxed); // Relaxed is enough: no other thread uses Asio's context.
        clear_services();
        gives_ = nullptr;
    }
    [[nodiscard]] bool is_cleared() const noexcept { return is_cleared_.load(sys::relaxed); }

    /// Stores an executor for tasks that other executors refuse. Only the first call has an effect. `where`
    /// is an executor of Asio's context, and `give(where, task)` posts a task to that executor. Any thread
    /// may call this function. Throws std::bad_alloc.
    template <class E, class Give>
    void know(const E& where, Give give) {
        if constexpr (requires { where.get_inner_executor(); }) { // a strand
            know(where.get_inner_executor(), give);
        } else {
            const std::lock_guard guard(counting_);
            if (gives_ == nullptr) gives_ = [where, give](task* given) { give(where, given); };
        }
    }

private:
    [[nodiscard]] bool take_over(task* refused) override {
        owned_task owned(refused);
        std::function<void(task*)> gives;
        if (!is_cleared()) {
            const std::lock_guard guard(counting_);
            gives = gives_;
        }
        if (gives == nullptr) return false;
        gives(owned.release());
        return true;
    }
    void shutdown() override {
        if (is_in_forked_child()) return;
        if constexpr (Asio::shutdown_waits_for_work) forget_work();
        shut_down_services();
        try {
            (void)Asio::template use_service<clears_ekiden_side<Asio>>(asio_service::context());
        } catch (...) { // If there is no memory for this service, the destructor clears the context.
        }
    }

    /// The coroutines that count as work are destroyed after the shutdown of Asio's services, which would
    /// wait for their work.
    void forget_work() noexcept {
        std::shared_ptr<void> dropped; // is declared first, so that it is destroyed after the unlock
        const std::lock_guard guard(counting_);
        dropped = std::move(kept_);
    }

    sys::slow_lock counting_;
    std::size_t count_ = 0;
    std::shared_ptr<void> kept_;
    std::function<void(task*)> gives_;
    sys::atomic<bool> is_cleared_{false};
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// The contexts behind executors: an execution_context of Asio's for each context of ours, and the reverse.
/// Private to the adapter.
///
/// Part: adapter. Used by: to_asio, from_asio. `Asio` is standalone_asio or boost_asio: the names of either
/// library.
#pragma once

#include <ekiden/adapter/asio/asio_events.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The context of Asio for a context of this library, made by the first query for it. Asio keeps its services
/// there.
///
/// If our context is a loop that one thread runs, that thread also waits for the system: see asio_events.
/// Otherwise the first timer or socket makes Asio start one thread of its own. That thread waits for the
/// system and passes completed operations to their handlers' executors. Without timers and sockets there is
/// no such thread.
///
/// It is destroyed with our context. When our services are shut down, the operations that wait in Asio's
/// services are dropped, and Asio's thread is joined. Sockets and timers of Asio must be destroyed before the
/// context, or lie in handlers or coroutines that are dropped with it. These are destroyed while Asio's
/// services still exist.
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
        // Asio would shut its reactor down before it joins the thread that uses it, and both would complete
        // the same operation. So the thread is joined first.
        Asio::join_own_thread(context_);
        context_.shutdown();
    }

    static constexpr char kind = 0; // only its address is used
    asio_own_context<Asio> context_;
    std::optional<asio_events<Asio>> events_;
};

template <class Asio>
class ekiden_side;

/// Clears our context of an Asio context. Asio destroys its services newest first, after it has shut all of
/// them down. This one is the newest, so coroutines that contain objects of Asio's are destroyed while its
/// services exist, and when no queue has a task of theirs.
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

/// The context of this library for a context of Asio's. It has services, and so timers. It is a service of
/// Asio's, which is destroyed with Asio's context.
template <class Asio>
class ekiden_side final : public Asio::execution_context::service, public execution_context {
    using asio_service = typename Asio::execution_context::service;

public:
    static inline typename Asio::execution_context::id id;

    explicit ekiden_side(typename Asio::execution_context& owner)
        : asio_service(owner), generation_(sys::fork_generation()) {}
    ~ekiden_side() override {
        // The threads of our services do not exist in the child of a fork().
        if (generation_ != sys::fork_generation()) abandon_services();
    }

    /// Counts one more piece of work. Keeps `tracked()`, a copy of an executor that counts as work, while
    /// this has been called more often than work_finished(). Any thread may call it. Throws whatever
    /// `tracked` throws, and std::bad_alloc.
    template <class Tracked>
    void work_started(const Tracked& tracked) {
        const std::lock_guard guard(counting_);
        if (count_ == 0) kept_ = std::make_shared<decltype(tracked())>(tracked());
        ++count_;
    }
    void work_finished() noexcept {
        std::shared_ptr<void> dropped; // destroyed outside the lock
        const std::lock_guard guard(counting_);
        if (--count_ == 0) dropped = std::move(kept_);
    }

    /// Called when Asio's services have been shut down and still exist. From now on tasks are refused,
    /// because Asio would keep them longer than the objects to which they refer.
    void clear() noexcept {
        is_cleared_.store(true, sys::relaxed); // relaxed: no other thread uses Asio's context now
        if (generation_ == sys::fork_generation()) clear_services();
        gives_ = nullptr;
    }
    [[nodiscard]] bool is_cleared() const noexcept { return is_cleared_.load(sys::relaxed); }

    /// Keeps an executor for tasks that other executors refuse: the first one that is given. `where` is an
    /// executor of Asio's context, and `give(where, task)` posts to it. Any thread may call it. Throws
    /// std::bad_alloc.
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
        if (generation_ != sys::fork_generation()) return;
        shut_down_services();
        try {
            (void)Asio::template use_service<clears_ekiden_side<Asio>>(asio_service::context());
        } catch (...) { // no memory: it is cleared when it is destroyed
        }
    }

    const std::uint16_t generation_; // the number of forks
    sys::slow_lock counting_;
    std::size_t count_ = 0;
    std::shared_ptr<void> kept_;
    std::function<void(task*)> gives_;
    sys::atomic<bool> is_cleared_{false};
};

} // namespace ekiden::inline EKIDEN_ABI::detail

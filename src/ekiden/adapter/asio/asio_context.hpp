/// What Asio finds behind an executor of this library: an execution_context of Asio's for each context of
/// ours, and the other way round. Private to the adapter.
///
/// Part: adapter. Used by: to_asio, from_asio. `Asio` is standalone_asio or boost_asio: the names of the two.
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

/// Asio's context for a context of this library, made by the first question for it. Asio keeps its services
/// there. If our context can (a loop that one thread runs), its thread waits for the system too, see
/// asio_events. Otherwise the first timer or socket among the services has Asio start one thread of its own,
/// which waits for the system and brings what has completed to the handler's executor; without one there is
/// none.
///
/// It ends with our context: what waits in Asio's services is dropped when our services are shut down, and
/// Asio's thread is joined then. Sockets and timers of Asio must be gone when the context is, or lie in
/// handlers or coroutines that are dropped with it: these are destroyed while Asio's services are there.
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
        // Asio would shut its reactor down before it joins the thread that works with it, and both would end
        // the same operation. So the thread goes first.
        Asio::join_own_thread(context_);
        context_.shutdown();
    }

    static constexpr char kind = 0; // has an address
    asio_own_context<Asio> context_;
    std::optional<asio_events<Asio>> events_;
};

template <class Asio>
class ekiden_side;

/// Asio destroys its services the newest first, and after it has shut all of them down. The newest one clears
/// ours: coroutines that have objects of Asio's are destroyed while its services are there, and when no task
/// of theirs is left in a queue.
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

/// Our context for one of Asio's: it has services, and so timers. A service of Asio's, which ends with it.
template <class Asio>
class ekiden_side final : public Asio::execution_context::service, public execution_context {
    using asio_service = typename Asio::execution_context::service;

public:
    static inline typename Asio::execution_context::id id;

    explicit ekiden_side(typename Asio::execution_context& owner)
        : asio_service(owner), generation_(sys::fork_generation()) {}
    ~ekiden_side() override {
        // The threads of our services are not there in the child of a fork().
        if (generation_ != sys::fork_generation()) abandon_services();
    }

    /// Has `tracked()` made and kept, a copy of an executor that counts as work, while more calls of this
    /// than of work_finished() have been made. Any thread. Throws what `tracked` throws, and std::bad_alloc.
    template <class Tracked>
    void work_started(const Tracked& tracked) {
        const std::lock_guard guard(counting_);
        if (count_ == 0) kept_ = std::make_shared<decltype(tracked())>(tracked());
        ++count_;
    }
    void work_finished() noexcept {
        std::shared_ptr<void> dropped; // outside of the lock
        const std::lock_guard guard(counting_);
        if (--count_ == 0) dropped = std::move(kept_);
    }

    /// When Asio's services have been shut down, and are there yet. From now on tasks are refused: Asio would
    /// keep them longer than what they refer to.
    void clear() noexcept {
        is_cleared_.store(true, sys::relaxed); // no other thread uses Asio's context any more
        if (generation_ == sys::fork_generation()) clear_services();
        gives_ = nullptr;
    }
    [[nodiscard]] bool is_cleared() const noexcept { return is_cleared_.load(sys::relaxed); }

    /// `where` is an executor of Asio's context, `give(where, task)` posts to it. The first one is kept, for
    /// tasks that other executors refuse. Any thread. Throws std::bad_alloc.
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
        } catch (...) { // no memory: it is cleared at its end
        }
    }

    const std::uint16_t generation_; // of forks
    sys::slow_lock counting_;
    std::size_t count_ = 0;
    std::shared_ptr<void> kept_;
    std::function<void(task*)> gives_;
    sys::atomic<bool> is_cleared_{false};
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// The base class of all objects that run tasks, such as pools and loops. A context owns services. A context
/// has at most one service of each type. The destructor of a context destroys the services.
///
/// Part: execution. Used by: programs that write services, and pools, loops, timers, fork-join and executors.
/// Modeled on the execution_context of the Networking TS (N4771, 13.7).
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/process_lock.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An object with work that is due at certain times, such as the timers of a context. The context calls
/// ring() when work is due.
class alarm_clock {
public:
    /// Returns the next time at which ring() has work, on the clock of sys::now_ns(). The value INT64_MAX
    /// means that no work will become due. Any thread may call next_ns().
    [[nodiscard]] virtual std::int64_t next_ns() const noexcept = 0;
    /// Does the work that is due. Any thread may call ring(). Several threads may call ring() at the same
    /// time.
    virtual void ring() noexcept = 0;

protected:
    alarm_clock() = default;
    ~alarm_clock() = default;
};

class entrance;
class event_source;

namespace detail {
class dump_samples;
} // namespace detail

/// The base class of contexts. A context ends its services in three steps. Each step handles the newest
/// service first:
///   1. The context shuts the services down. The threads of the context still exist, but they run no tasks.
///   2. After its threads have ended, the context clears the services, which destroy objects of the program.
///   3. After all services have been cleared, the context destroys the services.
/// For example, a service may own coroutine frames of the program. The destructor of a coroutine frame may
/// use every service.
///
/// In the child of a fork(), a context of the parent process does not end its services. The child loses the
/// work of the services, because the threads of the context do not exist in the child. In the child,
/// use_service() and has_service() do not find these services, because a thread that does not exist in the
/// child may hold a lock of a service. So use_service() creates a new service. References to the services of
/// the parent process remain valid.
class execution_context {
public:
    /// The base class of services. A service is constructed by use_service(), with its context as the only
    /// argument.
    class service {
    public:
        service(const service&) = delete;
        service& operator=(const service&) = delete;
        virtual ~service() = default;

        [[nodiscard]] execution_context& context() const noexcept { return context_; }

        /// Returns true if this process is the child of a fork(), and the service was constructed before the
        /// fork. Objects from before the fork still refer to such a service. A thread that exists only in the
        /// parent process may hold the locks of the service, so the child must not acquire these locks. Any
        /// thread may call is_left_behind().
        [[nodiscard]] bool is_left_behind() const noexcept { return generation_ != sys::fork_generation(); }

    protected:
        explicit service(execution_context& owner) noexcept : context_(owner) {}

        /// Asks the context to call `alarm.ring()` whenever the time `alarm.next_ns()` is reached. The
        /// context calls ring() only while a thread runs the context, and not after shutdown(). Returns false
        /// if the context cannot call `alarm`. If the result is false, the service needs its own thread. A
        /// service calls be_rung() at most once.
        [[nodiscard]] bool be_rung(alarm_clock& alarm) { return context_.adopt(alarm); }
        /// Tells the context that `alarm.next_ns()` may have become earlier. Any thread may call this
        /// function.
        void tell_earlier_alarm() noexcept { context_.alarm_moved(); }

        /// Returns whether the context accepts an event source of this kind. Returns false if the context
        /// already has an event source of another kind. `kind` is any address that identifies the kind.
        /// Several services of one kind may call may_bring_events(), although only one of these services will
        /// be added. All these calls return the same result.
        [[nodiscard]] bool may_bring_events(const void* kind) noexcept {
            return context_.reserve_source(kind);
        }
        /// Gives the event source to the context. A service must call bring_events() once, in added(). From
        /// then on, the threads that run the context also wait for events of `source`, and run the handlers
        /// of these events.
        void bring_events(event_source& source) noexcept { context_.adopt(source); }

        /// Passes a task to the context after an executor has refused the task. The executor that has refused
        /// the task may itself belong to this context. An example is a full lane whose inner context is this
        /// context. The context runs the task later and returns true, or abandons the task and returns false.
        /// If hand_over() throws, the task has been abandoned. Any thread may call hand_over().
        bool hand_over(task* refused) { return context_.take_over(refused); }

        /// Returns the fork generation in which the context was constructed (see sys/fork.hpp).
        [[nodiscard]] std::uint16_t context_generation() const noexcept { return context_.generation_; }

    private:
        friend class execution_context;

        /// The context calls added() once, before any thread can find the service. If two threads create
        /// services of the same type at the same time, one of the two services is added, and the other
        /// service is destroyed. During added(), no other service can be added to this context. So added()
        /// may call use_service() for other contexts, but not for this context.
        virtual void added() noexcept {}

        /// Drops the tasks and handlers that the service stores, without running them. The context calls
        /// shutdown() once. Afterwards the service gets no new requests, except from destructors of the
        /// dropped tasks.
        virtual void shutdown() noexcept {}

        /// Destroys the objects of the program that the service stores. The context calls clear() once,
        /// before it destroys any service. When clear() is called, no task runs in the context, and the
        /// context accepts no tasks.
        virtual void clear() noexcept {}

        /// Writes the objects of the service that wait, for a dump. Called twice by a thread that may have
        /// interrupted any other function. The function must acquire no lock and allocate no memory. It must
        /// expect that other threads change the objects meanwhile.
        virtual void dump(detail::dump_samples&) const noexcept {}

        execution_context& context_;
        const void* key_ = nullptr;
        service* older_ = nullptr;
        const std::uint16_t generation_ = sys::fork_generation();
        bool is_shut_down_ = false;
        bool is_cleared_ = false;
    };

    execution_context(const execution_context&) = delete;
    execution_context& operator=(const execution_context&) = delete;

    /// Returns the identifier of the context. Every context of the process has a different identifier. The
    /// identifier of a destroyed context is not used again.
    [[nodiscard]] context_id id() const noexcept { return id_; }

    template <std::derived_from<service> S>
    friend S& use_service(execution_context& context);
    template <std::derived_from<service> S>
    friend bool has_service(const execution_context& context) noexcept;

    /// Returns true if the context accepts no more tasks. The context also refuses every later task. Any
    /// thread may call refuses_tasks(). Ordering: relaxed. If the end of the context happens before the call,
    /// the result is true.
    [[nodiscard]] bool refuses_tasks() const noexcept { return is_shut(gate_refuses_); }
    /// Returns true if the context begins no task now, because it is paused or stopped. A task that runs
    /// several functions must call holds_tasks() between two functions. If the result is true, the task must
    /// give the remaining functions back to the context. Any thread may call holds_tasks(). Ordering:
    /// relaxed.
    [[nodiscard]] bool holds_tasks() const noexcept { return is_shut(gate_holds_); }

    /// Returns true if the context has begun to end. It refuses tasks of threads outside, except for
    /// outstanding work. Any thread may call is_closing(). Ordering: relaxed.
    [[nodiscard]] bool is_closing() const noexcept { return is_shut(gate_closes_); }

    /// For the library's own use. Returns the way of outside threads into this context, or null. Only a
    /// post_scope uses the result.
    [[nodiscard]] entrance* entrance_of_posts() const noexcept { return entrance_; }

    /// For the library's own use. A dump calls this function, and each service then writes its waiting
    /// objects. See service::dump().
    void dump_services(detail::dump_samples& to) const noexcept {
        for (const service* s = newest_.load(sys::acquire); s != nullptr; s = s->older_) // [XC1]
            s->dump(to);
    }

protected:
    execution_context() noexcept = default;

    /// Sets the word that refuses_tasks(), holds_tasks() and is_closing() read, and the bits that these
    /// functions test. Call set_gate() before any task is accepted. The word must exist as long as the
    /// context. If a context does not call set_gate(), the functions return false.
    void set_gate(const sys::atomic<std::uint32_t>& word, std::uint32_t refuses, std::uint32_t holds,
                  std::uint32_t closes = 0) noexcept {
        gate_ = &word;
        gate_refuses_ = refuses;
        gate_holds_ = holds;
        gate_closes_ = refuses | closes;
    }

    /// Sets the result of entrance_of_posts(). Call set_entrance() before any task is accepted. A context
    /// needs an entrance if it refuses tasks although other tasks still run, or if it stops for lack of work.
    void set_entrance(entrance& way_in) noexcept { entrance_ = &way_in; }

    // In the child of a fork(), the next functions have no effect on a context of the parent process.

    /// Calls end_services(), which has no effect if it has been called already.
    virtual ~execution_context() { end_services(); }

    /// Shuts the services down. The destructor of each context must call shut_down_services() before any
    /// other function. Otherwise a thread that a service owns could give tasks to the destroyed parts of the
    /// context. Not thread-safe. Only the owner of the context may call this function.
    void shut_down_services() noexcept {
        if (is_in_forked_child()) return;
        for (service* s = newest_.load(sys::acquire); s != nullptr; s = s->older_) { // [XC1]
            if (!std::exchange(s->is_shut_down_, true)) s->shutdown();
        }
    }
    /// Clears the services. No thread may use the services any more. First shuts down the services that were
    /// created after the call of shut_down_services().
    void clear_services() noexcept {
        if (is_in_forked_child()) return;
        for (const service* newest = nullptr; newest != newest_.load(sys::relaxed);) {
            newest = newest_.load(sys::relaxed);
            shut_down_services(); // shutdown() or clear() of a service may create another service
            for (service* s = newest_.load(sys::relaxed); s != nullptr; s = s->older_) {
                if (!std::exchange(s->is_cleared_, true)) s->clear();
            }
        }
    }
    /// Destroys the services. Calls clear_services() first.
    void end_services() noexcept {
        if (is_in_forked_child()) return;
        clear_services();
        while (service* const ended = newest_.load(sys::relaxed)) {
            newest_.store(ended->older_, sys::relaxed);
            delete ended;
        }
    }
    /// Returns whether this process is the child of a fork(), and the context was constructed before the
    /// fork.
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

private:
    /// See service::be_rung(). A context accepts at most one alarm clock.
    [[nodiscard]] virtual bool adopt(alarm_clock&) { return false; }
    virtual void alarm_moved() noexcept {}
    /// See service::may_bring_events(). A context accepts at most one event source.
    [[nodiscard]] virtual bool reserve_source(const void*) noexcept { return false; }
    virtual void adopt(event_source&) noexcept {}
    /// See service::hand_over(). By default, a context abandons the task, because it cannot accept the task.
    [[nodiscard]] virtual bool take_over(task* refused) {
        refused->abandon();
        return false;
    }

    template <class S>
    static const void* key_of() noexcept {
        static const char key = 0;
        return &key;
    }

    [[nodiscard]] service* find(const void* key) const noexcept {
        // [XC1] Acquire: pairs with the release in add_or_drop(), so the service is complete. The list only
        // grows.
        service* s = newest_.load(sys::acquire);
        while (s != nullptr && s->key_ != key) s = s->older_;
        // In the child of a fork(), the services of the child are newer than those of the parent.
        return s != nullptr && !s->is_left_behind() ? s : nullptr;
    }

    service& add_or_drop(std::unique_ptr<service> fresh, const void* key) {
        const std::lock_guard guard(adding_);
        if (service* const found = find(key)) return *found; // another thread has added the service
        fresh->key_ = key;
        fresh->older_ = newest_.load(sys::relaxed);
        fresh->added();
        newest_.store(fresh.get(), sys::release); // [XC1] Release: publishes the service
        return *fresh.release();
    }

    [[nodiscard]] bool is_shut(std::uint32_t mask) const noexcept {
        return gate_ != nullptr && (gate_->load(sys::relaxed) & mask) != 0;
    }

    const context_id id_ = context_id::next();
    const sys::atomic<std::uint32_t>* gate_ = nullptr;
    std::uint32_t gate_refuses_ = 0;
    std::uint32_t gate_holds_ = 0;
    std::uint32_t gate_closes_ = 0;
    entrance* entrance_ = nullptr;
    const std::uint16_t generation_ = sys::fork_generation();
    sys::process_lock adding_; // the list is usable at each moment, because one store adds a service
    sys::atomic<service*> newest_{nullptr};
};

/// Returns the service of type S of `context`. The first call creates the service. In the child of a fork(),
/// the first call in the child creates a new service. Throws std::bad_alloc, and whatever the constructor of
/// S throws. Any thread may call use_service().
template <std::derived_from<execution_context::service> S>
S& use_service(execution_context& context) {
    const void* const key = context.key_of<S>();
    if (auto* const found = context.find(key)) return static_cast<S&>(*found);
    // The service is created without the lock, because its constructor may call use_service().
    return static_cast<S&>(context.add_or_drop(std::make_unique<S>(context), key));
}

/// Returns whether the context has a service of type S. In the child of a fork(), services of the parent
/// process do not count. Any thread may call has_service().
template <std::derived_from<execution_context::service> S>
[[nodiscard]] bool has_service(const execution_context& context) noexcept {
    return context.find(context.key_of<S>()) != nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI

/// The base of everything that runs work. A context has services: objects of which each context has at most
/// one per type, and which are destroyed with the context.
///
/// Part: execution. Used by: programs that write services, pool, loop (are contexts); timers and fork-join
/// (are services); executors. Modeled on the execution_context of the Networking TS (N4771, 13.7).
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An object with work that is due at certain times: the timers of a context. The context calls it if it can.
class alarm_clock {
public:
    /// Returns when ring() has work next, on the clock of sys::now_ns(). INT64_MAX means never. Any thread
    /// may call it.
    [[nodiscard]] virtual std::int64_t next_ns() const noexcept = 0;
    /// Does the work that is due. Any thread may call it, and several threads may call it at once.
    virtual void ring() noexcept = 0;

protected:
    alarm_clock() = default;
    ~alarm_clock() = default;
};

class event_source;

/// The base of contexts. Its services end in three steps. Each step handles the newest service first:
///   1. Shut down: the threads of the context still run, but no task of the context does.
///   2. Cleared: the threads have ended.
///   3. Destroyed: all services have been cleared. A service may keep objects of programs, such as the frames
///   of coroutines. While these are destroyed, they may use every other service.
/// In the child of a fork() none of these steps happens, and the work of the services is lost with the
/// threads.
class execution_context {
public:
    /// The base of services. use_service() constructs a service with its context as the only argument.
    class service {
    public:
        service(const service&) = delete;
        service& operator=(const service&) = delete;
        virtual ~service() = default;

        [[nodiscard]] execution_context& context() const noexcept { return context_; }

    protected:
        explicit service(execution_context& owner) noexcept : context_(owner) {}

        /// Asks the context to call `alarm.ring()` whenever its time has come, while a thread runs the
        /// context, until shutdown(). Returns false if the context cannot; then the service needs a thread of
        /// its own. A service calls it at most once.
        [[nodiscard]] bool be_rung(alarm_clock& alarm) { return context_.adopt(alarm); }
        /// Tells the context that `alarm.next_ns()` may have become earlier. Any thread may call it.
        void tell_earlier_alarm() noexcept { context_.alarm_moved(); }

        /// Asks whether the context accepts a source of events. Returns false if it cannot, or if it has a
        /// source of another kind. `kind` is any address. Several services of one kind may ask, although only
        /// one of them will be added. All get the same answer.
        [[nodiscard]] bool may_bring_events(const void* kind) noexcept {
            return context_.reserve_source(kind);
        }
        /// Gives the source to the context. Call it once, in added(). The threads that run the context then
        /// run its events too, and wait for them.
        void bring_events(event_source& source) noexcept { context_.adopt(source); }

        /// Passes a task to the context after an executor has refused it. That executor may be one on this
        /// context, such as a full lane. Like accept() of an executor, it runs the task later, or abandons it
        /// and returns false. If it throws, the task has been abandoned. Any thread may call it.
        bool hand_over(task* refused) { return context_.take_over(refused); }

    private:
        friend class execution_context;

        /// Called once, before any thread can find the service. The service is now kept. (If two threads
        /// create the same service at the same time, one of them drops its own.)
        virtual void added() noexcept {}

        /// Drops the work that the service keeps for others, without running it. Called once. Afterwards the
        /// service gets no new requests, except from tasks that are being dropped.
        virtual void shutdown() noexcept {}

        /// Destroys the objects of others that the service keeps. Called once, before any service is
        /// destroyed. By then nothing runs in the context, and the context accepts no tasks.
        virtual void clear() noexcept {}

        execution_context& context_;
        const void* key_ = nullptr;
        service* older_ = nullptr;
        bool is_shut_down_ = false;
        bool is_cleared_ = false;
    };

    execution_context(const execution_context&) = delete;
    execution_context& operator=(const execution_context&) = delete;

    /// Returns the name of the context. Within the process, every context has a different name, and no name
    /// is used again.
    [[nodiscard]] context_id id() const noexcept { return id_; }

    /// Returns the service of type S. The first call creates it. Throws std::bad_alloc, and what the
    /// constructor of S throws. Any thread may call it.
    template <std::derived_from<service> S>
    friend S& use_service(execution_context& context) {
        if (service* const found = context.find(key_of<S>())) return static_cast<S&>(*found);
        // Created without the lock, because its constructor may use other services.
        return static_cast<S&>(context.add_or_drop(std::make_unique<S>(context), key_of<S>()));
    }

    /// Returns whether the context has a service of type S. Any thread may call it.
    template <std::derived_from<service> S>
    [[nodiscard]] friend bool has_service(const execution_context& context) noexcept {
        return context.find(key_of<S>()) != nullptr;
    }

    /// Returns whether the context accepts no more tasks, for good. A task that is given to it now is
    /// refused. Any thread may call it. Ordering: relaxed. A thread that knows that the context has ended
    /// gets true.
    [[nodiscard]] bool refuses_tasks() const noexcept { return is_shut(gate_refuses_); }
    /// Returns whether the context begins no task now, because it is paused or stopped. Code that runs
    /// several functions as one task calls it between two of them, and returns the rest to the context. Any
    /// thread may call it. Ordering: relaxed.
    [[nodiscard]] bool holds_tasks() const noexcept { return is_shut(gate_holds_); }

protected:
    execution_context() noexcept = default;

    /// Sets the word from which refuses_tasks() and holds_tasks() read, and the bits that they test. Call it
    /// before any task is accepted. The word must live as long as the context. Without a word, both functions
    /// return false.
    void set_gate(const sys::atomic<std::uint32_t>& word, std::uint32_t refuses,
                  std::uint32_t holds) noexcept {
        gate_ = &word;
        gate_refuses_ = refuses;
        gate_holds_ = holds;
    }

    /// Calls end_services(), if that has not been called.
    virtual ~execution_context() { end_services(); }

    /// Shuts the services down. The destructor of a context begins with this call, because a service may have
    /// a thread of its own that gives tasks to the context. Not thread-safe: only the owner of the context
    /// calls it.
    void shut_down_services() noexcept {
        for (service* s = newest_.load(sys::acquire); s != nullptr; s = s->older_) { // [XC1]
            if (!std::exchange(s->is_shut_down_, true)) s->shutdown();
        }
    }
    /// Clears the services, once no thread uses them any more. First shuts down the services that have been
    /// created since shut_down_services().
    void clear_services() noexcept {
        for (const service* newest = nullptr; newest != newest_.load(sys::relaxed);) {
            newest = newest_.load(sys::relaxed);
            shut_down_services(); // dropping or clearing may create another service
            for (service* s = newest_.load(sys::relaxed); s != nullptr; s = s->older_) {
                if (!std::exchange(s->is_cleared_, true)) s->clear();
            }
        }
    }
    /// Destroys the services. Calls clear_services() first.
    void end_services() noexcept {
        clear_services();
        while (service* const ended = newest_.load(sys::relaxed)) {
            newest_.store(ended->older_, sys::relaxed);
            delete ended;
        }
    }
    /// Forgets the services without destroying them. For the child of a fork().
    void abandon_services() noexcept { newest_.store(nullptr, sys::relaxed); }

private:
    /// See service::be_rung(). A context accepts at most one alarm clock.
    [[nodiscard]] virtual bool adopt(alarm_clock&) { return false; }
    virtual void alarm_moved() noexcept {}
    /// See service::may_bring_events(). A context accepts at most one source.
    [[nodiscard]] virtual bool reserve_source(const void*) noexcept { return false; }
    virtual void adopt(event_source&) noexcept {}
    /// See service::hand_over(). A context without threads of its own cannot accept the task.
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
        // [XC1] acquire: the service; pairs with the release in add_or_drop(). The list only grows.
        service* s = newest_.load(sys::acquire);
        while (s != nullptr && s->key_ != key) s = s->older_;
        return s;
    }

    service& add_or_drop(std::unique_ptr<service> fresh, const void* key) {
        const std::lock_guard guard(adding_);
        if (service* const found = find(key)) return *found; // another thread was faster
        fresh->key_ = key;
        fresh->older_ = newest_.load(sys::relaxed);
        fresh->added();
        newest_.store(fresh.get(), sys::release); // [XC1] the service
        return *fresh.release();
    }

    [[nodiscard]] bool is_shut(std::uint32_t mask) const noexcept {
        return gate_ != nullptr && (gate_->load(sys::relaxed) & mask) != 0;
    }

    const context_id id_ = context_id::next();
    const sys::atomic<std::uint32_t>* gate_ = nullptr;
    std::uint32_t gate_refuses_ = 0;
    std::uint32_t gate_holds_ = 0;
    sys::slow_lock adding_;
    sys::atomic<service*> newest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

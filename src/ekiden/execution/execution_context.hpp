/// What runs work has services: objects of which each context has at most one of a type, and which end with
/// it.
///
/// Part: execution. Used by: programs that write services, pool, loop (are contexts); timers and fork-join
/// (are services); executors. After the execution_context of the Networking TS (N4771, 13.7).
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

/// What has to be done at certain times: the timers of a context, which calls it if it can.
class alarm_clock {
public:
    /// When ring() has something to do next, as sys::now_ns() counts; INT64_MAX: never. Any thread.
    [[nodiscard]] virtual std::int64_t next_ns() const noexcept = 0;
    /// Does what is due. Any thread; several at once do no harm.
    virtual void ring() noexcept = 0;

protected:
    alarm_clock() = default;
    ~alarm_clock() = default;
};

class event_source;

/// The base of contexts. The life of its services, in this order:
///   shut down   the newest first, while the threads of the context still run, and no task of it does;
///   cleared     the newest first, when the threads have ended;
///   ended       the newest first, when all have been cleared: objects of programs that a service keeps, such
///               as the frames of coroutines, may use every other service at their end.
/// In the child of a fork() none of it happens: what they were doing is lost with the threads.
class execution_context {
public:
    /// The base of services. A service of type S is constructed with (S's context, args...).
    class service {
    public:
        service(const service&) = delete;
        service& operator=(const service&) = delete;
        virtual ~service() = default;

        [[nodiscard]] execution_context& context() const noexcept { return context_; }

    protected:
        explicit service(execution_context& owner) noexcept : context_(owner) {}

        /// Asks the context to call `alarm.ring()` whenever its time has come, while a thread runs the
        /// context, until shutdown(). False: this context cannot; the service needs a thread of its own.
        /// Once.
        [[nodiscard]] bool be_rung(alarm_clock& alarm) { return context_.adopt(alarm); }
        /// `alarm.next_ns()` may have become earlier than the context knows. Any thread.
        void tell_earlier_alarm() noexcept { context_.alarm_moved(); }

        /// Asks whether the context takes a source of events. False: it cannot, or has one of another kind.
        /// `kind` is any address. Of the services of one kind, of which one will be added, all hear the same.
        [[nodiscard]] bool may_bring_events(const void* kind) noexcept {
            return context_.reserve_source(kind);
        }
        /// Once, in added(): the threads that run the context run these events too, and wait for them.
        void bring_events(event_source& source) noexcept { context_.adopt(source); }

        /// Gives the context a task that an executor has refused, which may have been one on this context,
        /// such as a full lane. As an executor's accept(): runs it later, or abandons it and returns false.
        /// If it throws, the task has been abandoned. Any thread.
        bool hand_over(task* refused) { return context_.take_over(refused); }

    private:
        friend class execution_context;

        /// Called once, before anybody can find the service: it stays now. (One of two threads that make the
        /// same service at the same time drops its own.)
        virtual void added() noexcept {}

        /// Drops what it keeps of others' work, without running it. Called once; afterwards the service is
        /// asked for nothing new, but for what tasks do that have been dropped.
        virtual void shutdown() noexcept {}

        /// Destroys what it keeps of others' objects. Called once, before any service ends; nothing runs in
        /// the context any more, and it takes no tasks.
        virtual void clear() noexcept {}

        execution_context& context_;
        const void* key_ = nullptr;
        service* older_ = nullptr;
        bool is_shut_down_ = false;
        bool is_cleared_ = false;
    };

    execution_context(const execution_context&) = delete;
    execution_context& operator=(const execution_context&) = delete;

    /// Names the context. No other context of the process has ever had the same name, or will.
    [[nodiscard]] context_id id() const noexcept { return id_; }

    /// The service of type S, made by the first call. Any thread. Throws std::bad_alloc, and what the
    /// constructor of S throws.
    template <std::derived_from<service> S>
    friend S& use_service(execution_context& context) {
        if (service* const found = context.find(key_of<S>())) return static_cast<S&>(*found);
        // Made without the lock: its constructor may use other services.
        return static_cast<S&>(context.add_or_drop(std::make_unique<S>(context), key_of<S>()));
    }

    /// Whether there is one. Any thread.
    template <std::derived_from<service> S>
    [[nodiscard]] friend bool has_service(const execution_context& context) noexcept {
        return context.find(key_of<S>()) != nullptr;
    }

    /// Returns whether the context takes no more tasks, for good. A task given to it now is refused. Relaxed:
    /// a thread that knows of the end sees it. Any thread.
    [[nodiscard]] bool refuses_tasks() const noexcept { return is_shut(gate_refuses_); }
    /// Returns whether the context begins no task now: it is paused, or stopped. What runs several functions
    /// as one task asks between two of them, and gives the rest back. Relaxed. Any thread.
    [[nodiscard]] bool holds_tasks() const noexcept { return is_shut(gate_holds_); }

protected:
    execution_context() noexcept = default;

    /// Names the word that answers refuses_tasks() and holds_tasks(), and the bits that say so. Before any
    /// task is accepted. The word lives as long as the context. A context without one answers false.
    void set_gate(const sys::atomic<std::uint32_t>& word, std::uint32_t refuses,
                  std::uint32_t holds) noexcept {
        gate_ = &word;
        gate_refuses_ = refuses;
        gate_holds_ = holds;
    }

    /// end_services(), if that has not been called.
    virtual ~execution_context() { end_services(); }

    /// By the context's own thread of control, once at a time. The destructor of a context begins with it: a
    /// service may have a thread of its own that gives tasks to the context.
    void shut_down_services() noexcept {
        for (service* s = newest_.load(sys::acquire); s != nullptr; s = s->older_) { // [XC1]
            if (!std::exchange(s->is_shut_down_, true)) s->shutdown();
        }
    }
    /// When no thread uses them any more. Those that have been made since shut_down_services() are shut down.
    void clear_services() noexcept {
        for (const service* newest = nullptr; newest != newest_.load(sys::relaxed);) {
            newest = newest_.load(sys::relaxed);
            shut_down_services(); // what they drop may make one more, and so may what they clear
            for (service* s = newest_.load(sys::relaxed); s != nullptr; s = s->older_) {
                if (!std::exchange(s->is_cleared_, true)) s->clear();
            }
        }
    }
    /// After clear_services(), which it calls if needed.
    void end_services() noexcept {
        clear_services();
        while (service* const ended = newest_.load(sys::relaxed)) {
            newest_.store(ended->older_, sys::relaxed);
            delete ended;
        }
    }
    /// Forgets them: in the child of a fork().
    void abandon_services() noexcept { newest_.store(nullptr, sys::relaxed); }

private:
    /// See service::be_rung(). At most one alarm clock.
    [[nodiscard]] virtual bool adopt(alarm_clock&) { return false; }
    virtual void alarm_moved() noexcept {}
    /// See service::may_bring_events(). At most one source.
    [[nodiscard]] virtual bool reserve_source(const void*) noexcept { return false; }
    virtual void adopt(event_source&) noexcept {}
    /// See service::hand_over(). A context without threads of its own cannot.
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

/// What runs work has services: objects of which each context has at most one of a type, and which end with
/// it.
///
/// Part: execution. Used by: programs that write services, pool, loop (are contexts); timers and fork-join
/// (are services); executors. After the execution_context of the Networking TS (N4771, 13.7).
#pragma once

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
///   ended       the newest first, when the threads have ended.
/// In the child of a fork() neither happens: what they were doing is lost with the threads.
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

    private:
        friend class execution_context;

        /// Called once, before anybody can find the service: it stays now. (One of two threads that make the
        /// same service at the same time drops its own.)
        virtual void added() noexcept {}

        /// Drops what it keeps of others' work, without running it. Called once; afterwards the service is
        /// asked for nothing new, but for what tasks do that have been dropped.
        virtual void shutdown() noexcept {}

        execution_context& context_;
        const void* key_ = nullptr;
        service* older_ = nullptr;
        bool is_shut_down_ = false;
    };

    execution_context(const execution_context&) = delete;
    execution_context& operator=(const execution_context&) = delete;

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

protected:
    execution_context() noexcept = default;
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
    void end_services() noexcept {
        for (const service* newest = nullptr; newest != newest_.load(sys::relaxed);) {
            newest = newest_.load(sys::relaxed);
            shut_down_services(); // what they drop may make one more
        }
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

    sys::slow_lock adding_;
    sys::atomic<service*> newest_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

/// Turns an executor of this library into an executor of Asio.
///
/// Part: adapter. Used by: adapter/asio/standalone.hpp, adapter/asio/boost.hpp. The executor properties are
/// those of Asio 1.18 to 1.26, which are modeled on P0443R14 and P1393R0.
#pragma once

#include <ekiden/adapter/asio/asio_context.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/queue/task.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An executor that Asio can use. This executor contains a copy of an `Executor` and the properties that Asio
/// asks for:
///   blocking           `possibly` (the default) means that execute(f) may call f(), like dispatch().
///                      `never` means that execute(f) posts f.
///   relationship       The default is `fork`. With `continuation` and `never`, execute() works like defer().
///   outstanding_work   The default is `untracked`. A `tracked` copy counts as work of the context.
///                      So run() of a loop and join() of a pool wait until tracked copies are destroyed.
///   allocator          The allocator provides the memory for f. A std::allocator means the recycler.
///   mapping            always `thread`
///   inline_exception_handling    always `capture`, if Asio has this property
///   context            the Asio context that asio_side provides
///
/// The adapted executor is at most two words larger than `Executor`. The adapted executor of a pool, a loop
/// or a strand has a size of 16 bytes, so any_io_executor allocates no memory for this executor. Copying an
/// adapted executor does not throw. The adapted executor is as thread-safe as `Executor`.
template <class Asio, executor Executor, class Allocator = std::allocator<void>>
class to_asio_executor {
    using blocking_t = typename Asio::blocking_t;
    using relationship_t = typename Asio::relationship_t;
    using outstanding_work_t = typename Asio::outstanding_work_t;
    template <class A>
    using allocator_t = typename Asio::template allocator_t<A>;

public:
    using inner_executor_type = Executor;

    explicit to_asio_executor(const Executor& inner, const Allocator& allocator = {}) noexcept
        : to_asio_executor(inner, allocator, 0) {}
    to_asio_executor(const to_asio_executor& other) noexcept
        : to_asio_executor(other.inner_, other.allocator_, other.bits_) {}
    to_asio_executor(to_asio_executor&& other) noexcept
        : inner_(std::move(other.inner_)), allocator_(std::move(other.allocator_)), bits_(other.release()) {}
    to_asio_executor& operator=(to_asio_executor other) noexcept {
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~to_asio_executor() {
        if (counts()) inner_.on_work_finished();
    }

    /// Returns an executor for a handler. If `is_counted` is true, the caller itself counts the handler as
    /// work of the context. In that case, tracked copies of the executor do not count as work.
    [[nodiscard]] static to_asio_executor of_handler(const Executor& inner, bool is_counted) noexcept {
        return {inner, Allocator(), is_counted ? counted_bit : std::uint8_t{0}};
    }

    [[nodiscard]] const Executor& get_inner_executor() const noexcept { return inner_; }
    [[nodiscard]] bool running_in_this_thread() const noexcept {
        return ekiden::running_in_this_thread(inner_);
    }

    friend bool operator==(const to_asio_executor& a, const to_asio_executor& b) noexcept {
        return a.inner_ == b.inner_ && a.allocator_ == b.allocator_ && a.bits_ == b.bits_;
    }
    friend bool operator!=(const to_asio_executor& a, const to_asio_executor& b) noexcept {
        return !(a == b);
    }

    /// Runs `f()` before execute() returns, or later, depending on the properties. If the context accepts no
    /// more tasks, execute() destroys `f`. Exceptions of `f` are never thrown to the caller, because the
    /// caller may be Asio's own thread. The context reports exceptions of `f` like exceptions of its tasks.
    /// Throws the same exceptions as post() of `Executor`.
    template <class F>
    void execute(F&& f) const {
        const Executor kept = inner_; // This is a copy, because `f` may destroy this executor.
        if (!has(never_bit) && ekiden::calls_in_place(kept)) {
            std::decay_t<F> own(std::forward<F>(f));
            return reporting<F>(kept, own);
        }
        task* const given = ekiden::make_task(std::forward<F>(f), allocator_, "execute");
        task* now = nullptr;
        {
            const detail::posting_scope here;
            if (has(never_bit))
                ekiden::accept_task(kept, given,
                                    has(continuation_bit) ? task_order::deferred : task_order::usual);
            else
                now = ekiden::continue_task(kept, given);
        }
        if (now != nullptr) reporting<F>(kept, [now] { now->run(); });
    }

    // ---- the properties

    /// The first call for a context may throw std::bad_alloc.
    [[nodiscard]] typename Asio::execution_context& query(typename Asio::context_t) const {
        return ekiden::use_service<detail::asio_side<Asio>>(inner_.context()).asio_context();
    }
    [[nodiscard]] blocking_t query(blocking_t) const noexcept {
        return has(never_bit) ? blocking_t(blocking_t::never) : blocking_t(blocking_t::possibly);
    }
    [[nodiscard]] relationship_t query(relationship_t) const noexcept {
        return has(continuation_bit) ? relationship_t(relationship_t::continuation)
                                     : relationship_t(relationship_t::fork);
    }
    [[nodiscard]] outstanding_work_t query(outstanding_work_t) const noexcept {
        return has(tracked_bit) ? outstanding_work_t(outstanding_work_t::tracked)
                                : outstanding_work_t(outstanding_work_t::untracked);
    }
    [[nodiscard]] static constexpr typename Asio::mapping_t query(typename Asio::mapping_t) noexcept {
        return Asio::mapping_t::thread;
    }
    [[nodiscard]] static constexpr typename Asio::inline_exception_handling_t
    query(typename Asio::inline_exception_handling_t) noexcept {
        return typename Asio::captures_exceptions_t();
    }
    template <class A>
    [[nodiscard]] Allocator query(allocator_t<A>) const noexcept {
        return allocator_;
    }

    [[nodiscard]] to_asio_executor require(typename blocking_t::possibly_t) const noexcept {
        return with(never_bit, false);
    }
    [[nodiscard]] to_asio_executor require(typename blocking_t::never_t) const noexcept {
        return with(never_bit, true);
    }
    [[nodiscard]] to_asio_executor require(typename relationship_t::fork_t) const noexcept {
        return with(continuation_bit, false);
    }
    [[nodiscard]] to_asio_executor require(typename relationship_t::continuation_t) const noexcept {
        return with(continuation_bit, true);
    }
    [[nodiscard]] to_asio_executor require(typename outstanding_work_t::tracked_t) const noexcept {
        return with(tracked_bit, true);
    }
    [[nodiscard]] to_asio_executor require(typename outstanding_work_t::untracked_t) const noexcept {
        return with(tracked_bit, false);
    }
    template <class A>
    [[nodiscard]] to_asio_executor<Asio, Executor, A> require(allocator_t<A> with) const& noexcept {
        return {inner_, with.value(), bits_};
    }
    [[nodiscard]] to_asio_executor<Asio, Executor> require(allocator_t<void>) const& noexcept {
        return {inner_, std::allocator<void>(), bits_};
    }
    // Asio calls one of the next two functions last, on a copy that already counts as work.
    template <class A>
    [[nodiscard]] to_asio_executor<Asio, Executor, A> require(allocator_t<A> with) && noexcept {
        return {*this, with.value()};
    }
    [[nodiscard]] to_asio_executor<Asio, Executor> require(allocator_t<void>) && noexcept {
        return {*this, std::allocator<void>()};
    }

private:
    template <class, executor, class>
    friend class to_asio_executor;

    static constexpr std::uint8_t never_bit = 1;
    static constexpr std::uint8_t continuation_bit = 2;
    static constexpr std::uint8_t tracked_bit = 4;
    static constexpr std::uint8_t counted_bit = 8; // another object counts the handler as work

    to_asio_executor(const Executor& inner, const Allocator& allocator, std::uint8_t bits) noexcept
        : inner_(inner), allocator_(allocator), bits_(bits) {
        if (counts()) inner_.on_work_started();
    }
    /// Moves the executor, the properties and the counted work out of `left`.
    template <class Other>
    to_asio_executor(to_asio_executor<Asio, Executor, Other>& left, const Allocator& allocator) noexcept
        : inner_(std::move(left.inner_)), allocator_(allocator), bits_(left.release()) {}

    /// Returns the property bits. After this call, the object does not count as work.
    [[nodiscard]] std::uint8_t release() noexcept {
        return std::exchange(bits_, static_cast<std::uint8_t>(bits_ & ~tracked_bit));
    }
    [[nodiscard]] bool counts() const noexcept {
        return (bits_ & (tracked_bit | counted_bit)) == tracked_bit;
    }
    [[nodiscard]] bool has(std::uint8_t bit) const noexcept { return (bits_ & bit) != 0; }
    [[nodiscard]] to_asio_executor with(std::uint8_t bit, bool is_set) const noexcept {
        return {inner_, allocator_, static_cast<std::uint8_t>(is_set ? bits_ | bit : bits_ & ~bit)};
    }

    template <class F, class Call>
    static void reporting(const Executor& where, Call&& call) noexcept {
        try {
            static_cast<void>(call());
        } catch (...) {
            ekiden::report_unhandled(where, type_description<std::decay_t<F>>());
        }
    }

    [[no_unique_address]] Executor inner_;
    [[no_unique_address]] Allocator allocator_;
    std::uint8_t bits_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// Records the requests of a program - when each came, for which key, how long it took - for `./dev lab
/// replay`, which plays them through other ways to process them.
///
/// Part: observe. Used by: programs. Hash of keys: SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, 2012).
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// What a request_log is made with.
struct request_log_options {
    std::size_t capacity = 1'000'000; ///< requests that are recorded, the first ones; 32 bytes each
    /// Time that a function waits is told apart from its work: as time of the clock without time of the
    /// processor. (So the time in which the system let others run counts as waiting.) Two system calls a
    /// request, some 250 ns each. Linux only; elsewhere all time is work.
    bool blocking = false;
    /// Keys that are numbers are written as they are. Otherwise a hash is, which tells nothing about the key
    /// without the salt. Texts are always hashed.
    bool plain_numbers = false;
    std::array<std::uint64_t, 2> salt{}; ///< for the same hashes in two recordings; both 0: drawn at random
};

/// Bounded, and never waits: what is beyond the capacity is counted as lost. A request costs three readings
/// of the clock and one atomic addition: about 80 ns, and 20 more for the hash of its key.
///
/// Any thread may call anything at any time. The log lives longer than the functions that it has wrapped.
class request_log {
    /// Written by the thread that the request comes to, then by the one that serves it. The way of the
    /// function from one to the other orders the two, as it does for what the function holds.
    struct entry {
        sys::cell<std::uint64_t> arrival_ns;
        sys::cell<std::uint64_t> key;
        /// The time of waiting and 1; 0 if it is not measured.
        sys::atomic<std::uint64_t> block_ns{0};
        /// The service's time and 1; 0 until it has ended.
        sys::atomic<std::uint64_t> ended{0};
    };

public:
    using options = request_log_options;

    /// Takes all the memory that it will have, and touches it. Throws std::bad_alloc, and
    /// std::invalid_argument for a capacity of 0.
    explicit request_log(const options& chosen = {});

    /// A function that has been wrapped; a pointer larger than it.
    template <class F>
    class timed;

    /// A request for `key` comes now. Returns `f` as a function that is to be called once; how long its call
    /// takes is the request's service. (Of a function that only starts something, as one that returns a
    /// coroutine, that is the start alone.) Throws what copying `f` throws.
    template <std::integral Key, class F>
    [[nodiscard]] timed<std::decay_t<F>> wrap(Key key, F&& f) {
        const auto number = static_cast<std::uint64_t>(key);
        return {begin(chosen_.plain_numbers ? number : hash(number)), std::forward<F>(f)};
    }
    template <class F>
    [[nodiscard]] timed<std::decay_t<F>> wrap(std::string_view key, F&& f) {
        return {begin(hash(key.data(), key.size())), std::forward<F>(f)};
    }

    /// What became of the requests that had come.
    struct summary {
        std::uint64_t written = 0;    ///< lines, but for the names
        std::uint64_t unfinished = 0; ///< had not ended, or never will; left out
        std::uint64_t lost = 0;       ///< came when the log was full
    };

    /// Writes what has ended as CSV: arrival_ns,key,service_ns,block_ns, in the order of the arrivals, which
    /// count from the first. Requests go on meanwhile. Look at the stream's state afterwards. Throws
    /// std::bad_alloc, and what the stream throws.
    [[nodiscard]] summary write_csv(std::ostream& to) const;

private:
    /// From the call to the end of the scope.
    class service {
    public:
        explicit service(entry* of) noexcept;
        ~service();
        service(const service&) = delete;
        service& operator=(const service&) = delete;

    private:
        entry* const of_;
        bool has_cpu_ = false;
        std::uint64_t cpu_ns_ = 0;
        std::uint64_t begin_ns_ = 0;
    };

    [[nodiscard]] entry* begin(std::uint64_t key) noexcept;
    [[nodiscard]] std::uint64_t hash(const void* bytes, std::size_t size) const noexcept;
    [[nodiscard]] std::uint64_t hash(std::uint64_t number) const noexcept {
        return hash(&number, sizeof number);
    }

    const options chosen_;
    const std::array<std::uint64_t, 2> salt_;
    const std::unique_ptr<entry[]> entries_;
    alignas(sys::isolation) sys::atomic<std::uint64_t> arrived_{0};
};

namespace detail {

/// The associated types of a function that is wrapped: none, unless it has them.
template <class F>
struct executor_of {};
template <class F>
    requires requires { typename F::executor_type; }
struct executor_of<F> {
    using executor_type = typename F::executor_type;
};
template <class F>
struct allocator_of {};
template <class F>
    requires requires { typename F::allocator_type; }
struct allocator_of<F> {
    using allocator_type = typename F::allocator_type;
};

} // namespace detail

/// Has the executor and the allocator that are associated with the function as its members, if it has any.
template <class F>
class request_log::timed : public detail::executor_of<F>, public detail::allocator_of<F> {
public:
    /// Calls the function, and records how long that took, also if it throws. Of more than one call, also of
    /// copies, the last one counts.
    template <class... Args>
        requires std::invocable<F&, Args...>
    decltype(auto) operator()(Args&&... args) {
        const service now(of_);
        return std::invoke(f_, std::forward<Args>(args)...);
    }

    [[nodiscard]] auto get_executor() const noexcept
        requires requires(const F& f) { f.get_executor(); }
    {
        return f_.get_executor();
    }
    [[nodiscard]] auto get_allocator() const noexcept
        requires requires(const F& f) { f.get_allocator(); }
    {
        return f_.get_allocator();
    }

private:
    friend class request_log;
    template <class G>
    timed(entry* of, G&& f) : of_(of), f_(std::forward<G>(f)) {}

    entry* of_; // null: lost
    F f_;
};

} // namespace ekiden::inline EKIDEN_ABI

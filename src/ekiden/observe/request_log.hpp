/// Records the requests of a program for `./dev lab replay`. The recording has the arrival time, key and
/// duration of each request. The lab replays the requests of the recording with other implementations.
///
/// Part: observe. Used by: programs. The hash of the keys is SipHash-2-4 (Aumasson, Bernstein, 2012).
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

/// The options of a request_log.
struct request_log_options {
    std::size_t capacity = 1'000'000; ///< Largest number of recorded requests. Each request needs 32 bytes.
    /// If true, the log records separately how long a function waits and how long the function works. The
    /// waiting time is the elapsed time minus the processor time. So the waiting time includes the time in
    /// which the system runs other threads. This option costs two system calls for each request. The option
    /// has an effect only on Linux. On other systems, all time counts as work.
    bool blocking = false;
    /// If true, the log writes keys that are numbers unchanged. If false, the log writes a hash of each key.
    /// The hash reveals nothing about the key to a reader without the salt. Keys that are text are always
    /// hashed.
    bool plain_numbers = false;
    /// Two recordings with the same salt have the same hashes. If both numbers are 0, the salt is random.
    std::array<std::uint64_t, 2> salt{};
};

/// A log of requests with a bounded capacity. The log never waits. When the log is full, further requests are
/// counted as lost. Each request costs three readings of the clock, one atomic addition, and the hash of its
/// key.
///
/// Thread safety: all members may be called concurrently. Lifetime: the log must outlive the functions that
/// wrap() has returned.
class request_log {
    /// The record of one request. The thread that receives the request writes to the record first. The thread
    /// that serves the request writes to the record later. The transfer of the function between the two
    /// threads orders these writes.
    struct entry {
        sys::cell<std::uint64_t> arrival_ns;
        sys::cell<std::uint64_t> key;
        /// The waiting time plus 1, or 0 if the waiting time is not measured.
        sys::atomic<std::uint64_t> block_ns{0};
        /// The service time plus 1, or 0 until the service has ended.
        sys::atomic<std::uint64_t> ended{0};
    };

public:
    using options = request_log_options;

    /// Allocates and initializes all memory of the log. Throws std::bad_alloc. Throws std::invalid_argument
    /// if the capacity is 0.
    explicit request_log(const options& chosen = {});

    /// A wrapped function. A wrapped function is larger than the original function by one pointer.
    template <class F>
    class timed;

    /// Records the arrival of a request for `key`. Returns a wrapped function that calls `f`. Call the
    /// wrapped function once. The duration of that call is the service time of the request. If `f` only
    /// starts an operation, for example because `f` returns a coroutine, only the start is measured. Throws
    /// whatever copying `f` throws.
    template <std::integral Key, class F>
    [[nodiscard]] timed<std::decay_t<F>> wrap(Key key, F&& f) {
        const auto number = static_cast<std::uint64_t>(key);
        return {begin(chosen_.plain_numbers ? number : hash(number)), std::forward<F>(f)};
    }
    template <class F>
    [[nodiscard]] timed<std::decay_t<F>> wrap(std::string_view key, F&& f) {
        return {begin(hash(key.data(), key.size())), std::forward<F>(f)};
    }

    /// The counts of the requests that have arrived.
    struct summary {
        std::uint64_t written = 0;    ///< number of written lines, without the header line
        std::uint64_t unfinished = 0; ///< number of requests that had not ended, so no line was written
        std::uint64_t lost = 0;       ///< number of requests that arrived when the log was full
    };

    /// Writes the completed requests as CSV with the columns arrival_ns, key, service_ns and block_ns. The
    /// lines are in the order of the arrivals, and times count from the arrival of the first line. Check the
    /// state of the stream after the call. Throws std::bad_alloc, and whatever the stream throws. Requests
    /// may arrive and end during the call.
    [[nodiscard]] summary write_csv(std::ostream& to) const;

private:
    /// Measures the service time of a request, from the construction of this object to its destruction.
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

/// The executor type of a wrapped function whose original function has an associated executor.
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

/// A wrapped function. The wrapped function has the associated executor and the associated allocator of the
/// original function, if the original function has them.
template <class F>
class request_log::timed : public detail::executor_of<F>, public detail::allocator_of<F> {
public:
    /// Calls the original function and records the duration of the call, even if the call throws. If this
    /// object and its copies are called more than once in total, the last call counts.
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

    entry* of_; // null if the request was lost
    F f_;
};

} // namespace ekiden::inline EKIDEN_ABI

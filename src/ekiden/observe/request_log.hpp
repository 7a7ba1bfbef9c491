/// Records the requests of a program for `./dev lab replay`: arrival time, key and duration of each. The lab
/// replays the recording against other implementations.
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

/// The options of a request_log.
struct request_log_options {
    std::size_t capacity = 1'000'000; ///< number of requests that are recorded, the first ones; 32 bytes each
    /// Separates the time that a function waits from the time that it works. Waiting is elapsed time without
    /// processor time, so it includes the time in which the system runs other threads. Costs two system calls
    /// for each request. Linux only: on other systems all time is work.
    bool blocking = false;
    /// Writes keys that are numbers unchanged. Otherwise a hash is written, which reveals nothing about the
    /// key without the salt. Keys that are text are always hashed.
    bool plain_numbers = false;
    std::array<std::uint64_t, 2>
        salt{}; ///< set it to get the same hashes in two recordings; both 0: drawn at random
};

/// A log of requests with a bounded capacity. It never waits: requests beyond the capacity are counted as
/// lost. A request costs three readings of the clock, one atomic addition, and the hash of its key.
///
/// Thread safety: all members may be called concurrently. Lifetime: the log must outlive the functions that
/// it has wrapped.
class request_log {
    /// Written by the thread that receives the request, then by the thread that serves it. The transfer of
    /// the function between them orders both, as it does for the data in the function.
    struct entry {
        sys::cell<std::uint64_t> arrival_ns;
        sys::cell<std::uint64_t> key;
        /// The waiting time plus 1, or 0 if it is not measured.
        sys::atomic<std::uint64_t> block_ns{0};
        /// The service time plus 1, or 0 until the service has ended.
        sys::atomic<std::uint64_t> ended{0};
    };

public:
    using options = request_log_options;

    /// Allocates all of its memory and touches it. Throws std::bad_alloc, and std::invalid_argument for a
    /// capacity of 0.
    explicit request_log(const options& chosen = {});

    /// A wrapped function. It is larger than the function by a pointer.
    template <class F>
    class timed;

    /// Records the arrival of a request for `key`. Returns `f` as a wrapped function, which must be called
    /// once. The duration of that call is the request's service. If the function only starts something, like
    /// a function that returns a coroutine, only the start is measured. Throws whatever copying `f` throws.
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
        std::uint64_t written = 0;    ///< lines written, without the header line
        std::uint64_t unfinished = 0; ///< requests that had not ended; left out
        std::uint64_t lost = 0;       ///< requests that arrived when the log was full
    };

    /// Writes the completed requests as CSV: arrival_ns,key,service_ns,block_ns. They are in the order of the
    /// arrivals, and times count from the first arrival. Check the stream's state afterwards. Throws
    /// std::bad_alloc, and whatever the stream throws. Requests may continue meanwhile.
    [[nodiscard]] summary write_csv(std::ostream& to) const;

private:
    /// Measures the time from its construction to its destruction.
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

/// The associated types of a wrapped function, if it has any.
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

/// A wrapped function. Its member types are the executor and the allocator that are associated with the
/// function, if there are any.
template <class F>
class request_log::timed : public detail::executor_of<F>, public detail::allocator_of<F> {
public:
    /// Calls the function and records how long the call takes, also if it throws. If it or its copies are
    /// called more than once, the last call counts.
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

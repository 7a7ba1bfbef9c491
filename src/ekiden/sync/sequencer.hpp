/// A queue of requests from many threads to one consumer, which replies to each request. Requests are
/// numbered and processed in the order of arrival.
///
/// Part: sync. Used by: users. Each request is stored on the call stack of its caller. The requests form a
/// linked list to which callers add at the front (a Treiber stack, 1986). The consumer removes the whole list
/// and reverses it. A bit in the word that holds the address of the first request tells whether the consumer
/// sleeps. So the step that adds a request also shows whether the caller must wake the consumer.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/parker.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A queue of requests. One thread processes the requests of all threads in the order of arrival.
///
/// Thread safety: call() and close() may be called concurrently. Only one thread at a time may call serve().
/// Destroy the sequencer when no call() and no serve() is in progress.
/// Ordering: a call() happens before the processing of its request. The processing of a request happens
/// before the return of the call.
/// Initialization: constant.
template <class Request, class Reply>
class sequencer {
public:
    /// A reply and the number of its request. The first request has the number 0, and the numbers have no
    /// gaps.
    struct numbered {
        std::uint64_t number; ///< the number of the request
        Reply reply;          ///< the result of the handler
    };

    constexpr sequencer() = default;
    sequencer(const sequencer&) = delete;
    sequencer& operator=(const sequencer&) = delete;

    /// Adds a request, and waits for the reply. One atomic step adds the request and fixes its number.
    /// Returns the reply, or an empty optional if the sequencer is closed. Rethrows what the handler throws.
    /// The function call() has no overload with a limit, because a caller cannot give up. The consumer may
    /// use the request on the caller's stack at any time, and the numbers must have no gaps.
    [[nodiscard]] std::optional<numbered> call(Request request) {
        pending mine{.request = std::move(request)};
        std::uintptr_t head = head_.load(sys::relaxed);
        for (;;) {
            if ((head & closed) != 0) return std::nullopt;
            mine.next = to_pending(head);
            // [SQ1] Release: publishes the request. Pairs with the acquire in take_all().
            if (head_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(&mine), sys::release,
                                            sys::relaxed))
                break;
        }
        if ((head & asleep) != 0) consumer_.unpark();
        sleep(mine.done); // when sleep() returns, this thread sees the reply that the consumer has written
        if (mine.error) std::rethrow_exception(std::move(mine.error));
        return numbered{mine.number, std::move(*mine.reply)};
    }

    /// Processes the requests that have arrived, without waiting. Returns the number of these requests. Calls
    /// `handler(number, request)` for each request. The handler must return the reply. The handler may use
    /// close(), but must not use call().
    template <class Handler>
    std::size_t serve_ready(Handler&& handler) {
        return process(take_all(), handler);
    }

    /// Waits for requests and processes them. Returns when close() has been called and all earlier requests
    /// are processed. Calls the handler like serve_ready().
    template <class Handler>
    void serve(Handler&& handler) {
        (void)serve(wait_limit(), std::forward<Handler>(handler));
    }
    /// Serves like serve(handler), but returns when `limit` is reached. Returns whether the sequencer is
    /// closed and all requests are processed. If the result is false, requests that have not been processed
    /// wait until a thread serves again. Requests that have arrived before the call of serve() are processed
    /// even if the limit is reached already.
    template <class Handler>
    [[nodiscard]] bool serve(const wait_limit& limit, Handler&& handler) {
        const std::stop_callback stopper(limit.stop(), [this]() noexcept { end_sleep(); });
        for (;;) {
            const bool has_processed = process(take_all(), handler) > 0;
            // [SQ1] Acquire. Pairs with the release in close().
            if (head_.load(sys::acquire) == closed) return true;
            if (!limit.is_endless() && limit.is_reached()) return false;
            if (!has_processed) await_request(limit);
        }
    }
    /// Serves like serve(limit, handler), where the limit is a duration.
    template <class Handler>
    [[nodiscard]] bool serve_for(const wait_duration& duration, Handler&& handler) {
        return serve(duration, std::forward<Handler>(handler));
    }
    /// Serves like serve(limit, handler), where the limit is a deadline.
    template <class Handler>
    [[nodiscard]] bool serve_until(const wait_deadline& deadline, Handler&& handler) {
        return serve(deadline, std::forward<Handler>(handler));
    }

    /// Closes the sequencer. Each later call() returns an empty optional. Has no effect if the sequencer is
    /// closed already.
    void close() noexcept {
        // One step sets `closed` and clears `asleep`, and close() does not access `head_` afterwards. So the
        // consumer may destroy the sequencer when it has read `closed`. If this step clears `asleep`, the
        // consumer waits for the unpark below before serve() returns.
        std::uintptr_t head = head_.load(sys::relaxed);
        // [SQ1] Release: publishes the work before close(). Pairs with the acquire in serve().
        while (!head_.compare_exchange_weak(head, (head & ~asleep) | closed, sys::release, sys::relaxed)) {
        }
        if ((head & asleep) != 0) consumer_.unpark();
    }
    /// Returns whether close() has been called.
    [[nodiscard]] bool is_closed() const noexcept { return (head_.load(sys::acquire) & closed) != 0; }

    /// Returns the number of requests processed so far. Only the serving thread may call this function.
    [[nodiscard]] std::uint64_t processed() const noexcept { return next_number_; }
    /// Returns the largest number of waiting requests that the serving thread has found at once. Only the
    /// serving thread may call this function.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return longest_; }

private:
    // head_ holds the address of the newest request, or 0 if there is no request. In addition, head_ holds
    // the bits `closed` and `asleep`. The function serve() sets `asleep`. The bit `asleep` is cleared by
    // call(), by close(), by a stop request, and by a call of serve() whose limit is reached. Each thread
    // that clears `asleep`, except the consumer itself, must unpark the consumer once. The consumer waits for
    // this unpark before serve() returns.
    static constexpr std::uintptr_t closed = 1; // close() has been called
    static constexpr std::uintptr_t asleep = 2; // the consumer sleeps, and there is no request

    struct pending {
        Request request;
        pending* next = nullptr;
        std::uint64_t number = 0;
        std::optional<Reply> reply{};
        std::exception_ptr error{};
        sys::parker done{};
    };
    static_assert(alignof(pending) > (closed | asleep));

    static void sleep(sys::parker& place) noexcept {
        if (place.has_token()) {
            place.park(); // this call returns at once
        } else {
            const blocked_here here("a sequencer");
            place.park();
        }
    }

    // Sleeps until a request arrives, the sequencer is closed, or the limit is reached.
    void await_request(const wait_limit& limit) noexcept {
        std::uintptr_t head = 0;
        // [SQ2] Acquire. Pairs with the release in end_sleep(). If a stop was requested before this step, the
        // code below will find the stop request.
        if (!head_.compare_exchange_strong(head, asleep, sys::acquire, sys::relaxed)) return;
        if (limit.is_endless()) {
            sleep(consumer_);
            return;
        }
        const blocked_here here("a sequencer");
        bool is_over = limit.stop().stop_requested();
        while (!is_over && limit.is_timed()) {
            if (consumer_.park_until(limit.deadline())) return;
            is_over = limit.is_reached();
        }
        // Relaxed is enough, because the step publishes nothing.
        const bool is_own_end = is_over && (head_.fetch_and(~asleep, sys::relaxed) & asleep) != 0;
        if (!is_own_end && !EKIDEN_MUTANT(sequencer_leaves_before_the_wake_up)) consumer_.park();
    }
    // Wakes the consumer. The thread that requests the stop calls this function.
    void end_sleep() noexcept {
        // [SQ2] Release: publishes the stop request. Pairs with the acquire in await_request().
        if ((head_.fetch_and(~asleep, sys::release) & asleep) != 0) consumer_.unpark();
    }

    static pending* to_pending(std::uintptr_t head) noexcept {
        return reinterpret_cast<pending*>(head & ~(closed | asleep));
    }

    // Removes the requests that have arrived. Returns the oldest of these requests. Each request links to the
    // next younger request.
    pending* take_all() noexcept {
        // [SQ1] Acquire. Pairs with the release in call().
        pending* newest = to_pending(head_.fetch_and(closed, sys::acquire));
        pending* oldest = nullptr;
        std::size_t count = 0;
        while (newest != nullptr) {
            pending* older = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = older;
            ++count;
        }
        if (count > longest_) longest_ = count;
        return oldest;
    }

    template <class Handler>
    std::size_t process(pending* request, Handler& handler) {
        std::size_t count = 0;
        for (; request != nullptr; ++count) {
            pending& now = *request;
            request = now.next; // before the unpark, after which the caller may destroy `now`
            now.number = next_number_++;
            try {
                now.reply.emplace(handler(now.number, now.request));
            } catch (...) {
                now.error = std::current_exception();
            }
            now.done.unpark();
        }
        return count;
    }

    sys::atomic<std::uintptr_t> head_{0};
    sys::parker consumer_;
    // Only the serving thread uses the two members below.
    std::uint64_t next_number_ = 0;
    std::size_t longest_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI

/// Requests from many threads, which one thread processes. They are numbered and processed in order of
/// arrival.
///
/// Part: sync. Used by: users. Each request is stored on the caller's own stack. The requests form a linked
/// stack, which the consumer removes as a whole and reverses (Treiber 1986). Added here: the consumer's sleep
/// is a bit of the same word. So the step that adds a request also tells whether to wake the consumer.
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

/// A queue in which threads leave requests, and one thread processes them in the order of arrival.
///
/// Thread safety: call() and close() may be called concurrently. One thread at a time serves. Destroy it when
/// no call() and no serve() is in progress.
/// Ordering: a call() happens before the processing of its request, which happens before the call returns.
/// Initialization: constant.
template <class Request, class Reply>
class sequencer {
public:
    /// A reply and the number of its request. The first request has number 0, and numbers have no gaps.
    struct numbered {
        std::uint64_t number; ///< of the request
        Reply reply;          ///< the result of the handler
    };

    constexpr sequencer() = default;
    sequencer(const sequencer&) = delete;
    sequencer& operator=(const sequencer&) = delete;

    /// Leaves a request, and waits for the reply. One atomic step adds the request and fixes its number.
    /// Returns the reply, or an empty optional if the sequencer is closed. Rethrows what the handler throws.
    /// It has no form with a limit, because the request is stored on the caller's stack and its number is
    /// used up.
    [[nodiscard]] std::optional<numbered> call(Request request) {
        pending mine{.request = std::move(request)};
        std::uintptr_t head = head_.load(sys::relaxed);
        for (;;) {
            if ((head & closed) != 0) return std::nullopt;
            mine.next = to_pending(head);
            // [SQ1] release; pairs with the acquire in take_all().
            if (head_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(&mine), sys::release,
                                            sys::relaxed))
                break;
        }
        if ((head & asleep) != 0) consumer_.unpark();
        sleep(mine.done); // the parker orders the reply
        if (mine.error) std::rethrow_exception(std::move(mine.error));
        return numbered{mine.number, std::move(*mine.reply)};
    }

    /// Processes the requests that have arrived. Returns their number. Does not wait. `handler(number,
    /// request)` returns the Reply. It may call close(), but not call().
    template <class Handler>
    std::size_t serve_ready(Handler&& handler) {
        return process(take_all(), handler);
    }

    /// Waits for requests and processes them, until close() has been called and all earlier requests are
    /// processed. The handler is that of serve_ready().
    template <class Handler>
    void serve(Handler&& handler) {
        (void)serve(wait_limit(), std::forward<Handler>(handler));
    }
    /// Serves like serve(handler), until `limit` at most. Returns whether the sequencer is closed and all
    /// requests are processed. If not, processed requests stay processed, later requests wait, and the thread
    /// may serve again. Requests that have arrived before the call are processed in any case.
    template <class Handler>
    [[nodiscard]] bool serve(const wait_limit& limit, Handler&& handler) {
        const std::stop_callback stopper(limit.stop(), [this]() noexcept { end_sleep(); });
        for (;;) {
            const bool has_processed = process(take_all(), handler) > 0;
            // [SQ1] acquire; pairs with the release in close().
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

    /// Closes the sequencer: later calls are refused. Has no effect if it is closed already.
    void close() noexcept {
        // Atomic with the end of the sleep: a server whose limit is reached may return, and destroy the
        // sequencer, as soon as it reads `closed`.
        std::uintptr_t head = head_.load(sys::relaxed);
        // [SQ1] release: what happens before close() happens before the end of serve().
        while (!head_.compare_exchange_weak(head, (head & ~asleep) | closed, sys::release, sys::relaxed)) {
        }
        if ((head & asleep) != 0) consumer_.unpark();
    }
    /// Returns whether close() has been called.
    [[nodiscard]] bool is_closed() const noexcept { return (head_.load(sys::acquire) & closed) != 0; }

    /// Returns the number of requests processed so far. For the serving thread.
    [[nodiscard]] std::uint64_t processed() const noexcept { return next_number_; }
    /// Returns the largest number of requests that were found waiting at once. For the serving thread.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return longest_; }

private:
    // head_ is the newest request, or 0, and two bits:
    //   closed  no more calls                                   set by close
    //   asleep  the consumer sleeps (and there is no request)   set by serve; cleared by call, close, a stop
    //                                                           request, or serve when its limit is reached
    // A thread that clears `asleep` must unpark the consumer once, unless it is the consumer itself. The
    // consumer waits for that unpark, so none arrives late.
    static constexpr std::uintptr_t closed = 1;
    static constexpr std::uintptr_t asleep = 2;

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
            place.park(); // does not sleep
        } else {
            const blocked_here here("a sequencer");
            place.park();
        }
    }

    // Sleeps until a request, close() or the limit ends it.
    void await_request(const wait_limit& limit) noexcept {
        std::uintptr_t head = 0;
        // [SQ2] acquire; pairs with the release in end_sleep(): if the stop was requested before this step,
        // the thread reads it below.
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
        // relaxed: publishes nothing.
        const bool is_own_end = is_over && (head_.fetch_and(~asleep, sys::relaxed) & asleep) != 0;
        if (!is_own_end && !EKIDEN_MUTANT(sequencer_leaves_before_the_wake_up)) consumer_.park();
    }
    // Called in the thread that requests the stop.
    void end_sleep() noexcept {
        // [SQ2] release; pairs with the acquire in await_request().
        if ((head_.fetch_and(~asleep, sys::release) & asleep) != 0) consumer_.unpark();
    }

    static pending* to_pending(std::uintptr_t head) noexcept {
        return reinterpret_cast<pending*>(head & ~(closed | asleep));
    }

    // Takes the requests that have arrived, oldest first.
    pending* take_all() noexcept {
        // [SQ1] acquire; pairs with the release in call().
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
            request = now.next; // the unpark below lets the caller destroy `now`
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
    // Used only by the serving thread:
    std::uint64_t next_number_ = 0;
    std::size_t longest_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI

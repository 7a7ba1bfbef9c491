/// Requests from many threads, numbered in the order of their arrival and processed in it by one thread.
///
/// Part: sync. Used by: users. The callers' requests lie on their own stacks, in a stack that the consumer
/// takes whole and turns round (Treiber 1986). What we added: the consumer's sleep is a bit of the same word,
/// so that the step that brings a request also says whether to wake it.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/parker.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Thrown by calls that a sequencer does not accept any more.
class sequencer_closed : public std::logic_error {
public:
    sequencer_closed() : std::logic_error("the sequencer is closed") {}
};

/// Any number of threads call; one thread at a time serves: the one that starts the callers, or its own,
/// started before them. A call happens before its processing, and that before the call's return. Destroyed
/// when no call and no serve is in progress. Ready before any constructor runs if it has static storage.
template <class Request, class Reply>
class sequencer {
public:
    /// A reply and the request's number: 0 for the first that arrived. Numbers have no gaps.
    struct numbered {
        std::uint64_t number; ///< of the request
        Reply reply;          ///< what the handler has returned
    };

    constexpr sequencer() = default;
    sequencer(const sequencer&) = delete;
    sequencer& operator=(const sequencer&) = delete;

    /// Brings a request, in one atomic step that fixes its number, and waits for the reply. Rethrows what the
    /// handler throws. Throws sequencer_closed if close() came first.
    numbered call(Request request) {
        pending mine{.request = std::move(request)};
        std::uintptr_t head = head_.load(sys::relaxed);
        for (;;) {
            if ((head & closed) != 0) throw sequencer_closed();
            mine.next = to_pending(head);
            // [SQ1] release; pairs with the acquire in take_all().
            if (head_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(&mine), sys::release,
                                            sys::relaxed))
                break;
        }
        if ((head & asleep) != 0) consumer_.unpark();
        sleep(mine.done); // the parker orders the reply
        if (mine.error) std::rethrow_exception(std::move(mine.error));
        return {mine.number, std::move(*mine.reply)};
    }

    /// Processes all requests that have arrived, without waiting, and returns how many. `handler(number,
    /// request)` returns the Reply; it may call close() but not call().
    template <class Handler>
    std::size_t serve_ready(Handler&& handler) {
        return process(take_all(), handler);
    }
    /// Waits for requests and processes them; returns after close(), when all that came before it are
    /// processed.
    template <class Handler>
    void serve(Handler&& handler) {
        for (;;) {
            if (process(take_all(), handler) > 0) continue;
            std::uintptr_t head = 0;
            if (head_.compare_exchange_strong(head, asleep, sys::relaxed, sys::relaxed)) {
                sleep(consumer_);
            } else if (head_.load(sys::acquire)
                       == closed) { // [SQ1] acquire; pairs with the release in close()
                return;
            }
        }
    }

    /// Refuses calls from now on. May be called more than once.
    void close() noexcept {
        // [SQ1] release: what happens before close() happens before the end of serve().
        if ((head_.fetch_or(closed, sys::release) & asleep) != 0) {
            head_.fetch_and(~asleep, sys::relaxed);
            consumer_.unpark();
        }
    }

    /// The number of requests so far. For the serving thread.
    [[nodiscard]] std::uint64_t processed() const noexcept { return next_number_; }
    /// The most requests that were found waiting at once. For the serving thread.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return longest_; }

private:
    // head_: the newest request, or 0, and two bits.
    //   closed  no more calls                                   set by close
    //   asleep  the consumer sleeps (and there is no request)   set by serve, cleared by call or close
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
            request = now.next; // `now` is gone when its caller is told
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
    // The serving thread's.
    std::uint64_t next_number_ = 0;
    std::size_t longest_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI

/// when_any() makes one future that becomes ready when the first of several given futures is ready.
///
/// Part: future. Used by: programs. Modeled on std::experimental::when_any (N4538).
#pragma once

#include <ekiden/future/when_all.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// The result of when_any(). The future at `index` is ready. Other futures may be ready, too.
template <class Futures>
struct when_any_result {
    std::size_t index; ///< the index of a future that is ready
    Futures futures;   ///< all futures
};

namespace detail {

/// The state that the continuations of several futures share. Each continuation holds a reference to the
/// state of its future, because the futures move to the consumer of the result as soon as one future is
/// ready.
template <class Futures>
class any_of_them {
public:
    any_of_them(Futures&& all, std::size_t count)
        : entries_(std::make_unique<entry[]>(count)), count_(count), references_(count + 1),
          all_(std::move(all)) {}

    [[nodiscard]] future<when_any_result<Futures>> start() {
        auto result = promise_.get_future();
        std::size_t i = 0;
        detail::each_future(all_,
                            [this, &i](auto& one) { // the loop ends before any continuation can be called
                                auto* const state = future_access::state(one);
                                state->retain();
                                entries_[i].set(*this, *state, i);
                                ++i;
                            });
        for (std::size_t k = 0; k < count_; ++k) {
            completion& awaited = *entries_[k].state;
            if (awaited.is_left_behind() || !awaited.attach(entries_[k].on_ready)) ended(entries_[k]);
        }
        meet();
        release();
        return result;
    }

private:
    struct entry {
        any_of_them* owner = nullptr;
        completion* state = nullptr;
        std::size_t index = 0;
        completion::continuation on_ready;

        void set(any_of_them& of, completion& awaited, std::size_t at) noexcept {
            owner = &of;
            state = &awaited;
            index = at;
            on_ready.set(
                [](void* self) noexcept {
                    auto* const here = static_cast<entry*>(self);
                    here->owner->ended(*here);
                },
                this);
        }
    };

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// Finishes the entry `which`. Called by the continuation of the entry, or by start() if the future is
    /// ready already.
    void ended(entry& which) noexcept {
        std::size_t expected = none;
        // Relaxed is enough, because meet() publishes the index of the winner.
        if (winner_.compare_exchange_strong(expected, which.index, sys::relaxed, sys::relaxed)) meet();
        drop(which);
    }

    /// Called once when the first future is ready, and once when all continuations are attached. The second
    /// call of meet() publishes the result.
    void meet() noexcept {
        if (EKIDEN_MUTANT(when_any_publishes_before_it_is_armed)
                ? winner_.load(sys::relaxed) == none
                // Release: publishes the winner or the entries, which this caller has written. Acquire: pairs
                // with the release of the other caller.
                : missing_.fetch_sub(1, sys::acq_rel) != 1)
            return;
        const std::size_t winner = winner_.load(sys::relaxed);
        for (std::size_t k = 0; k < count_; ++k) {
            if (k != winner && entries_[k].state->detach(entries_[k].on_ready)) drop(entries_[k]);
        }
        promise_.set_value(when_any_result<Futures>{winner, std::move(all_)});
    }

    void drop(entry& which) noexcept {
        which.state->release();
        release();
    }
    void release() noexcept {
        // Release: the uses of the object by this thread happen before its destruction. Acquire: the uses by
        // all other threads happen before `delete this`.
        if (references_.fetch_sub(1, sys::acq_rel) == 1) delete this;
    }

    const std::unique_ptr<entry[]> entries_;
    const std::size_t count_;
    sys::atomic<std::size_t> references_; // one reference for each entry, and one for start()
    sys::atomic<std::size_t> winner_{none};
    sys::atomic<unsigned> missing_{2};
    Futures all_;
    promise<when_any_result<Futures>> promise_;
};

template <class Futures>
[[nodiscard]] future<when_any_result<Futures>> when_any_of(Futures all, std::size_t count) {
    detail::expect_states(all);
    return (new any_of_them<Futures>(std::move(all), count))->start();
}

} // namespace detail

/// Returns a future that becomes ready when one of `futures` has a result or an exception. The result of the
/// returned future contains a tuple of all `futures`. The tasks of the futures that are not ready continue.
///
/// Use when_any() for futures in threads, and for work that has already been started. The counterpart for
/// coroutines is when_any() in async/when_any.hpp. The counterpart starts the coroutines, returns the result
/// of the first coroutine that ends, and stops the other coroutines.
///
/// In the child of a fork(), a future whose result cannot arrive counts as ready, because its get() throws.
/// The arguments lose their states, even if when_any() throws. Throws std::future_error(no_state) if one of
/// `futures` has no state. Throws std::bad_alloc.
template <class... R>
[[nodiscard]] future<when_any_result<std::tuple<future<R>...>>> when_any(future<R>... futures) {
    static_assert(sizeof...(R) > 0, "ekiden: when_any: of no futures none is ever ready");
    return detail::when_any_of(std::tuple<future<R>...>(std::move(futures)...), sizeof...(R));
}

/// Moves the futures out of a range, and waits for the first of them like when_any(futures...). The result of
/// the returned future contains a vector with the futures in the order of the range. Throws
/// std::invalid_argument if the range is empty.
template <std::forward_iterator Iterator>
[[nodiscard]] auto when_any(Iterator first, Iterator last) {
    if (first == last)
        throw std::invalid_argument("ekiden: when_any: the range is empty; allowed is at least one future");
    std::vector<std::iter_value_t<Iterator>> all(std::make_move_iterator(first),
                                                 std::make_move_iterator(last));
    const std::size_t count = all.size();
    return detail::when_any_of(std::move(all), count);
}

} // namespace ekiden::inline EKIDEN_ABI

/// when_all() makes one future that becomes ready when several given futures are all ready.
///
/// Part: future. Used by: programs. Modeled on std::experimental::when_all (N4538).
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Calls `visit` with each future of a tuple or of a vector.
template <class Visit, class... R>
void each_future(std::tuple<future<R>...>& all, Visit&& visit) {
    std::apply([&visit](auto&... one) { (visit(one), ...); }, all);
}
template <class Visit, class R>
void each_future(std::vector<future<R>>& all, Visit&& visit) {
    for (auto& one : all) visit(one);
}

/// The state that the continuations of several futures share. The last continuation destroys the state.
template <class Futures>
class all_of_them {
public:
    all_of_them(Futures&& all, std::size_t count)
        : continuations_(std::make_unique<completion::continuation[]>(count)), left_(count + 1),
          all_(std::move(all)) {}

    [[nodiscard]] future<Futures> start() {
        future<Futures> result = promise_.get_future();
        std::size_t i = 0;
        detail::each_future(all_, [this, &i](auto& one) {
            completion::continuation& on_ready = continuations_[i++];
            on_ready.set([](void* self) noexcept { static_cast<all_of_them*>(self)->end(); }, this);
            // The last call of end() moves the futures away. This call is not the last, because start() calls
            // end() once more below.
            auto* const state = future_access::state(one);
            if (state->is_left_behind() || !state->attach(on_ready)) end();
        });
        end();
        return result;
    }

private:
    void end() noexcept {
        // Release: the uses of the object by this thread happen before its destruction. Acquire: the uses by
        // all other threads happen before `delete this`.
        if (left_.fetch_sub(1, sys::acq_rel) != 1) return;
        promise_.set_value(std::move(all_));
        delete this;
    }

    std::unique_ptr<completion::continuation[]> continuations_;
    sys::atomic<std::size_t> left_;
    Futures all_;
    promise<Futures> promise_;
};

/// Throws std::future_error(no_state) if one of the futures has no state. Called before the futures move into
/// the shared state.
template <class Futures>
void expect_states(Futures& all) {
    detail::each_future(all, [](auto& one) {
        if (!one.valid()) throw_no_state();
    });
}

template <class Futures>
[[nodiscard]] future<Futures> when_all_of(Futures all, std::size_t count) {
    detail::expect_states(all);
    return (new all_of_them<Futures>(std::move(all), count))->start();
}

} // namespace detail

/// Returns a future that becomes ready when all of `futures` are ready. The result of the returned future is
/// a tuple of these futures. Each future in the tuple then has a value or an exception. Without arguments,
/// the returned future is ready at once.
///
/// Use when_all() for futures in threads, and for work that has already been started. The counterpart for
/// coroutines is when_all() in async/when_all.hpp. The counterpart starts the coroutines, and returns their
/// results. If one coroutine throws, the counterpart stops the other coroutines.
///
/// In the child of a fork(), a future whose result cannot arrive counts as ready, because its get() throws.
/// The arguments lose their states, even if when_all() throws. Throws std::future_error(no_state) if one of
/// `futures` has no state. Throws std::bad_alloc.
template <class... R>
[[nodiscard]] future<std::tuple<future<R>...>> when_all(future<R>... futures) {
    return detail::when_all_of(std::tuple<future<R>...>(std::move(futures)...), sizeof...(R));
}

/// Moves the futures out of a range, and waits for all of them like when_all(futures...). The result of the
/// returned future is a vector with the futures in the order of the range.
template <std::forward_iterator Iterator>
[[nodiscard]] auto when_all(Iterator first, Iterator last) {
    std::vector<std::iter_value_t<Iterator>> all(std::make_move_iterator(first),
                                                 std::make_move_iterator(last));
    const std::size_t count = all.size();
    return detail::when_all_of(std::move(all), count);
}

} // namespace ekiden::inline EKIDEN_ABI

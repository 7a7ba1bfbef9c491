/// Runs several coroutines concurrently until the first one has ended, and stops the others.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/when_all.hpp>

#include <coroutine>
#include <cstddef>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// The coroutine of a range that ended first, with its result.
template <class T>
struct any_winner {
    std::size_t index; ///< its place in the range
    T value;           ///< its result
};
/// The same for coroutines without a result.
template <>
struct any_winner<void> {
    std::size_t index; ///< its place in the range
};

namespace detail {

/// The part of when_any() that does not depend on the number of coroutines.
class any_group : public group {
public:
    [[nodiscard]] static bool await_ready() noexcept { return false; }

protected:
    any_group() = default;
    ~any_group() = default;

    /// Stores the member's result if it is the first one. Otherwise the result is destroyed when the call
    /// returns.
    template <class Store>
    void offer(Store&& store) noexcept {
        if (!decide()) return;
        try {
            store();
        } catch (...) {
            failed_after_all(std::current_exception());
        }
    }
};

template <class... F>
class [[nodiscard]] when_any_pack final : public any_group {
    using result = std::variant<kept_result_t<F>...>;

public:
    template <class... G>
    explicit when_any_pack(std::in_place_t, G&&... sources) : sources_(std::forward<G>(sources)...) {}
    ~when_any_pack() { end_members(); } // before what they have been made of

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        begin_in_turn(std::index_sequence_for<F...>());
        return publish();
    }
    result await_resume() {
        finish_several();
        return std::move(*result_);
    }

private:
    template <std::size_t... I>
    void begin_in_turn(std::index_sequence<I...>) noexcept {
        using beginner = void (when_any_pack::*)() noexcept;
        static constexpr beginner all[] = {&when_any_pack::begin_one<I>...};
        const std::size_t first = first_of(sizeof...(I));
        for (std::size_t k = 0; k != sizeof...(I) && !is_decided(); ++k)
            (this->*all[(first + k) % sizeof...(I)])();
    }
    template <std::size_t I>
    void begin_one() noexcept {
        begin([this] {
            return run_member(*this, std::get<I>(sources_), [this](group&, auto&&... value) {
                offer([&] {
                    result_.emplace(std::in_place_index<I>, std::forward<decltype(value)>(value)...);
                });
            });
        });
    }

    std::tuple<F...> sources_;
    std::optional<result> result_;
};

template <class F>
class [[nodiscard]] when_any_range final : public any_group {
    static constexpr bool is_void = std::is_void_v<result_of_source<F>>;
    using kept = kept_result_t<F>;
    using result = any_winner<std::conditional_t<is_void, void, kept>>;

public:
    explicit when_any_range(std::vector<F>&& sources) : sources_(std::move(sources)) {
        if (sources_.empty()) {
            throw std::invalid_argument(
                "ekiden: when_any: the range is empty; allowed is at least one coroutine");
        }
    }
    ~when_any_range() { end_members(); } // before what they have been made of

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        const std::size_t first = first_of(sources_.size());
        for (std::size_t k = 0; k != sources_.size() && !is_decided(); ++k) begin_one(first + k);
        return publish();
    }
    result await_resume() {
        finish_several();
        if constexpr (is_void)
            return {index_};
        else
            return {index_, std::move(*value_)};
    }

private:
    void begin_one(std::size_t number) noexcept {
        const std::size_t i = number % sources_.size();
        begin([this, i] {
            return run_member(*this, sources_[i], [this, i](group&, auto&&... value) {
                offer([&] {
                    index_ = i;
                    value_.emplace(std::forward<decltype(value)>(value)...);
                });
            });
        });
    }

    std::vector<F> sources_;
    std::size_t index_ = 0;
    std::optional<kept> value_;
};

} // namespace detail

/// `co_await when_any(a, b, ...)`: runs coroutines, or callables that return them, until one has ended, stops
/// the others, and waits for them. The when_any() for futures is declared in future/when_any.hpp: it stops
/// nothing.
///
/// Returns a std::variant. Its index says which coroutine ended first, and its value is the result, as in
/// when_all(). If that coroutine threw, throws its exception. The results of the others are destroyed where
/// they end. Their exceptions are in suppressed_exceptions() until the caller's next co_await, even if the
/// call returns a result. When it returns, all frames have been destroyed. Callables are kept as long as
/// their coroutines.
///
/// The coroutines begin one after the other in the caller, each up to its first wait. If a coroutine ends
/// without waiting, later ones do not begin. Each call begins with another coroutine, so that none is
/// preferred. A stop from outside stops all. A coroutine that then ends with a result takes precedence over
/// operation_canceled, which is thrown only if all end with it.
template <class... Sources>
    requires(sizeof...(Sources) > 0 && (detail::group_source<std::decay_t<Sources>> && ...))
[[nodiscard]] auto when_any(Sources&&... sources) {
    return detail::when_any_pack<std::decay_t<Sources>...>(std::in_place, std::forward<Sources>(sources)...);
}

/// The same for a range of them. Returns an any_winner. The elements of a container that is passed as an
/// rvalue are moved; those of other containers and of views are copied. Throws std::invalid_argument for an
/// empty range, std::bad_alloc, and what copying throws.
template <std::ranges::input_range Range>
    requires detail::group_source<detail::source_in<Range>>
[[nodiscard]] auto when_any(Range&& range) {
    return detail::when_any_range<detail::source_in<Range>>(
        detail::sources_of<Range>(std::forward<Range>(range)));
}

} // namespace ekiden::inline EKIDEN_ABI

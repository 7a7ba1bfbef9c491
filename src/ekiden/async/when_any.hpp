/// Runs several coroutines concurrently until the first one has ended, and stops the others.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/when_all.hpp>

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

/// Stores the result of a member of when_any(), by `store()`, if it is the first one. Otherwise the result is
/// destroyed when the call returns.
template <class Store>
void offer(group& owner, Store&& store) noexcept {
    if (!owner.decide()) return;
    try {
        store();
    } catch (...) {
        owner.failed_after_all(std::current_exception());
    }
}

/// The members of when_any(), of these types.
template <class... F>
class any_of_pack {
    using result = std::variant<kept_result_t<F>...>;

public:
    template <class... G>
    explicit any_of_pack(G&&... sources) : sources_(std::forward<G>(sources)...) {}

    [[nodiscard]] static bool empty() noexcept { return false; }
    void begin(group& owner) noexcept { begin_in_turn(owner, std::index_sequence_for<F...>()); }
    result take() { return std::move(*result_); }

private:
    template <std::size_t... I>
    void begin_in_turn(group& owner, std::index_sequence<I...>) noexcept {
        using beginner = void (any_of_pack::*)(group&) noexcept;
        static constexpr beginner all[] = {&any_of_pack::begin_one<I>...};
        const std::size_t first = group::first_of(sizeof...(I));
        for (std::size_t k = 0; k != sizeof...(I) && !owner.is_decided(); ++k)
            (this->*all[(first + k) % sizeof...(I)])(owner);
    }
    template <std::size_t I>
    void begin_one(group& owner) noexcept {
        owner.begin(std::get<I>(sources_), [this, &owner](auto&&... value) {
            offer(owner,
                  [&] { result_.emplace(std::in_place_index<I>, std::forward<decltype(value)>(value)...); });
        });
    }

    std::tuple<F...> sources_;
    std::optional<result> result_;
};

/// The members of when_any(), in a range of one type.
template <class F>
class any_of_range {
    static constexpr bool is_void = std::is_void_v<result_of_source<F>>;
    using kept = kept_result_t<F>;
    using result = any_winner<std::conditional_t<is_void, void, kept>>;

public:
    explicit any_of_range(std::vector<F>&& sources) : sources_(std::move(sources)) {
        if (sources_.empty()) {
            throw std::invalid_argument(
                "ekiden: when_any: the range is empty; allowed is at least one coroutine");
        }
    }

    [[nodiscard]] static bool empty() noexcept { return false; }
    void begin(group& owner) noexcept {
        const std::size_t first = group::first_of(sources_.size());
        for (std::size_t k = 0; k != sources_.size() && !owner.is_decided(); ++k) {
            const std::size_t i = (first + k) % sources_.size();
            owner.begin(sources_[i], [this, i, &owner](auto&&... value) {
                offer(owner, [&] {
                    index_ = i;
                    value_.emplace(std::forward<decltype(value)>(value)...);
                });
            });
        }
    }
    result take() {
        if constexpr (is_void)
            return {index_};
        else
            return {index_, std::move(*value_)};
    }

private:
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
    return detail::group_awaiter<detail::any_of_pack<std::decay_t<Sources>...>>(
        std::forward<Sources>(sources)...);
}

/// The same for a range of them. Returns an any_winner. The elements of a container that is passed as an
/// rvalue are moved; those of other containers and of views are copied. Throws std::invalid_argument for an
/// empty range, std::bad_alloc, and what copying throws.
template <std::ranges::input_range Range>
    requires detail::group_source<detail::source_in<Range>>
[[nodiscard]] auto when_any(Range&& range) {
    return detail::group_awaiter<detail::any_of_range<detail::source_in<Range>>>(
        detail::sources_of<Range>(std::forward<Range>(range)));
}

} // namespace ekiden::inline EKIDEN_ABI

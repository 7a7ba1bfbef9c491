/// Runs several coroutines concurrently until one of them has ended, and stops the others.
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

/// The result of when_any() for a range: the coroutine that ended first, and its result.
template <class T>
struct any_winner {
    std::size_t index; ///< the position of the coroutine in the range
    T value;           ///< the result of the coroutine
};
/// The result of when_any() for a range of coroutines without results.
template <>
struct any_winner<void> {
    std::size_t index; ///< the position of the coroutine in the range
};

namespace detail {

/// Called when a member of when_any() has ended with a result. If no other member has ended before, stores
/// the result by a call of `store()`. Otherwise the result is destroyed when offer() returns.
template <class Store>
void offer(group& owner, Store&& store) noexcept {
    if (!owner.decide()) return;
    try {
        store();
    } catch (...) {
        owner.failed_after_all(std::current_exception());
    }
}

/// Stores the arguments of a call of when_any(), and the result. `F...` are the types of the arguments.
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
            detail::offer(owner, [&] {
                result_.emplace(std::in_place_index<I>, std::forward<decltype(value)>(value)...);
            });
        });
    }

    std::tuple<F...> sources_;
    std::optional<result> result_;
};

/// Stores the elements of a range for when_any(), and the result. `F` is the type of the elements.
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
                detail::offer(owner, [&] {
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

/// `co_await when_any(a, b, ...)`: runs the given coroutines concurrently until one of them has ended. Then
/// when_any() stops the other coroutines, and waits until they have ended. An argument may also be a callable
/// that returns a coroutine. The when_any() for futures, in future/when_any.hpp, does not stop anything.
///
/// Returns a std::variant. The index of the variant tells which coroutine ended first. The variant contains
/// the result of this coroutine. As in when_all(), a std::monostate stands for no result, and a
/// std::reference_wrapper stands for a reference. If this coroutine has thrown an exception, when_any()
/// throws the exception. The result of any other coroutine is destroyed in the thread in which that coroutine
/// ends. The function suppressed_exceptions() returns the exceptions of the other coroutines until the
/// caller's next co_await, even if when_any() returns a result. Before when_any() returns, all coroutine
/// frames have been destroyed. A callable is stored until its coroutine has ended.
///
/// The coroutines begin one after the other in the calling thread, and each runs up to its first wait. If a
/// coroutine ends without waiting, when_any() begins no further coroutine. Each call of when_any() begins
/// with a different argument, so that no argument is preferred. If the caller is stopped, all coroutines are
/// stopped. If a coroutine still ends with a result after this stop, when_any() returns the result. The call
/// throws operation_canceled only if all coroutines end with operation_canceled.
template <class... Sources>
    requires(sizeof...(Sources) > 0 && (detail::group_source<std::decay_t<Sources>> && ...))
[[nodiscard]] auto when_any(Sources&&... sources) {
    return detail::group_awaiter<detail::any_of_pack<std::decay_t<Sources>...>>(
        std::forward<Sources>(sources)...);
}

/// Runs the coroutines of a range like when_any(a, b, ...). Returns an any_winner. If the range is a
/// container that is passed as an rvalue, moves its elements. Copies the elements of all other containers and
/// of views. Throws std::invalid_argument if the range is empty. Throws std::bad_alloc, and everything that
/// the copy of an element throws.
template <std::ranges::input_range Range>
    requires detail::group_source<detail::source_in<Range>>
[[nodiscard]] auto when_any(Range&& range) {
    return detail::group_awaiter<detail::any_of_range<detail::source_in<Range>>>(
        detail::sources_of<Range>(std::forward<Range>(range)));
}

} // namespace ekiden::inline EKIDEN_ABI

/// Runs several coroutines concurrently and waits for all of them.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/group.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Stores the arguments of a call of when_all(), and the results. `F...` are the types of the arguments.
template <class... F>
class all_of_pack {
public:
    template <class... G>
    explicit all_of_pack(G&&... sources) : sources_(std::forward<G>(sources)...) {}

    [[nodiscard]] static bool empty() noexcept { return false; }
    void begin(group& owner) noexcept { begin_each(owner, std::index_sequence_for<F...>()); }
    auto take() {
        if constexpr (!(std::is_void_v<result_of_source<F>> && ...)) {
            return std::apply(
                [](auto&... each) { return std::tuple<kept_result_t<F>...>(std::move(*each)...); }, results_);
        }
    }

private:
    template <std::size_t... I>
    void begin_each(group& owner, std::index_sequence<I...>) noexcept {
        (begin_one(owner, std::get<I>(sources_), std::get<I>(results_)), ...);
    }
    template <class Source, class Result>
    static void begin_one(group& owner, Source& source, std::optional<Result>& place) noexcept {
        if (owner.is_decided()) return;
        owner.begin(source,
                    [&place](auto&&... result) { place.emplace(std::forward<decltype(result)>(result)...); });
    }

    std::tuple<F...> sources_;
    std::tuple<std::optional<kept_result_t<F>>...> results_;
};

/// Stores the elements of a range for when_all(), and the results. `F` is the type of the elements.
template <class F>
class all_of_range {
    static constexpr bool is_void = std::is_void_v<result_of_source<F>>;
    using result = kept_result_t<F>;

public:
    explicit all_of_range(std::vector<F>&& sources) : sources_(std::move(sources)) {
        if constexpr (!is_void) results_.resize(sources_.size());
    }

    [[nodiscard]] bool empty() const noexcept { return sources_.empty(); }
    void begin(group& owner) noexcept {
        for (std::size_t i = 0; i != sources_.size() && !owner.is_decided(); ++i) {
            if constexpr (is_void)
                owner.begin(sources_[i], [] {});
            else
                owner.begin(sources_[i], [&slot = results_[i]](auto&& value) {
                    slot.emplace(std::forward<decltype(value)>(value));
                });
        }
    }
    auto take() {
        if constexpr (!is_void) {
            std::vector<result> all;
            all.reserve(results_.size());
            for (auto& each : results_) all.push_back(std::move(*each));
            return all;
        }
    }

private:
    std::vector<F> sources_;
    std::vector<std::optional<result>> results_; // empty if the members have no results
};

template <class Range>
using source_in = std::remove_cv_t<std::ranges::range_value_t<Range>>;

/// True if elements can be moved out of a range that is passed as `Range`. The elements of a view are not
/// moved, because they may belong to another object.
template <class Range>
inline constexpr bool gives_its_elements =
    !std::is_lvalue_reference_v<Range> && !std::ranges::view<std::remove_cv_t<Range>>;

/// Returns the elements of a range as a vector. If the range is a container that is passed as an rvalue, or
/// if the range creates its elements, moves the elements. Otherwise copies them.
template <class Range>
[[nodiscard]] std::vector<source_in<Range>> sources_of(Range&& range) {
    using all = std::vector<source_in<Range>>;
    if constexpr (std::same_as<Range, all>) {
        return std::move(range);
    } else {
        all sources;
        if constexpr (std::ranges::sized_range<Range>)
            sources.reserve(static_cast<std::size_t>(std::ranges::size(range)));
        for (auto&& each : range) {
            if constexpr (gives_its_elements<Range>)
                sources.push_back(std::move(each));
            else
                sources.push_back(std::forward<decltype(each)>(each));
        }
        return sources;
    }
}

} // namespace detail

/// `co_await when_all(a, b, ...)`: runs the given coroutines concurrently, and waits until all of them have
/// ended. An argument may also be a callable that returns a coroutine. The when_all() for futures is declared
/// in future/when_all.hpp. Use when_all() for futures if the work already runs in other threads or contexts.
/// Use when_all() for coroutines to start coroutines that can be stopped.
///
/// Returns a std::tuple of the results. The tuple has a std::monostate for a coroutine without a result, and
/// a std::reference_wrapper for a reference. Returns nothing if no coroutine has a result. A callable is
/// stored until its coroutine has ended.
///
/// The coroutines begin one after the other in the calling thread, and each runs up to its first wait. After
/// its first wait, a coroutine continues on the executor of the caller. A coroutine that ends without waiting
/// costs no atomic operation. If a coroutine throws, when_all() begins no further coroutine, stops the
/// running coroutines, and waits for them.
///
/// Throws the first exception that a coroutine has thrown. The function suppressed_exceptions() returns the
/// other exceptions until the caller's next co_await. After a stop, when_all() throws operation_canceled only
/// if there is no other exception. The list of suppressed_exceptions() does not contain an operation_canceled
/// after a stop.
template <class... Sources>
    requires(sizeof...(Sources) > 0 && (detail::group_source<std::decay_t<Sources>> && ...))
[[nodiscard]] auto when_all(Sources&&... sources) {
    return detail::group_awaiter<detail::all_of_pack<std::decay_t<Sources>...>>(
        std::forward<Sources>(sources)...);
}

/// Runs the coroutines of a range like when_all(a, b, ...). Returns a std::vector of the results, in the
/// order of the range. Returns nothing if the coroutines have no results. If the range is a container that is
/// passed as an rvalue, moves its elements. Copies the elements of all other containers and of views. Returns
/// at once if the range is empty. Throws std::bad_alloc, and everything that the copy of an element throws.
template <std::ranges::input_range Range>
    requires detail::group_source<detail::source_in<Range>>
[[nodiscard]] auto when_all(Range&& range) {
    return detail::group_awaiter<detail::all_of_range<detail::source_in<Range>>>(
        detail::sources_of<Range>(std::forward<Range>(range)));
}

} // namespace ekiden::inline EKIDEN_ABI

/// An item from whichever of several buffers has one first.
///
/// Part: async. Used by: users. No item is lost: those that the others may bring meanwhile stay in their
/// buffers. What holds of it: locks.md.
#pragma once

#include <ekiden/async/select_wait.hpp>
#include <ekiden/sync/buffer_base.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

template <class Buffer>
struct buffer_branch : select_branch {
    std::optional<typename Buffer::value_type> item{};
    typename Buffer::pop_step step;

    explicit buffer_branch(Buffer& b) noexcept
        : select_branch(b.core(), Buffer::may_pop, &take), step(b, item) {}
    buffer_branch(const buffer_branch&) = delete;
    buffer_branch& operator=(const buffer_branch&) = delete;

private:
    static state_value take(void* context, state_value now) noexcept {
        auto& self = static_cast<buffer_branch&>(*static_cast<select_branch*>(context));
        self.has_ended = self.step.finds_nothing();
        return self.has_ended || !self.owner->claim(self.index) ? now : self.step(now);
    }
};

template <class... Buffers>
class [[nodiscard("an operation begins when it is awaited")]] select_awaiter final : private select_wait {
    static constexpr auto count = static_cast<std::uint32_t>(sizeof...(Buffers));
    using branch_array = std::array<select_branch*, count>;

public:
    using select_wait::comes_home;
    using result = std::optional<std::variant<typename Buffers::value_type...>>;

    explicit select_awaiter(select_priority* order, Buffers&... buffers) noexcept
        : order_(order), branches_(buffers...),
          all_(std::apply([](auto&... b) { return branch_array{&b...}; }, branches_)) {
        for (std::uint32_t i = 0; i < count; ++i) {
            all_[i]->owner = this;
            all_[i]->index = i;
        }
    }
    ~select_awaiter() { end(); }

    [[nodiscard]] static constexpr bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!begin(coroutine)) [[unlikely]]
            return true;
        const std::uint32_t first = order_ != nullptr ? order_->next(count) : rotated(count);
        if (!try_now(all_, first) && wait(all_, first)) return true;
        return go_on(coroutine);
    }

    [[nodiscard]] result await_resume() {
        result got;
        take_from(collect(), got, std::index_sequence_for<Buffers...>());
        return got;
    }

private:
    template <std::size_t... Index>
    void take_from(std::uint32_t winner, result& got, std::index_sequence<Index...>) {
        ((winner == Index ? take<Index>(got) : void()), ...);
    }
    template <std::size_t Index>
    void take(result& got) {
        auto& one = std::get<Index>(branches_);
        (void)one.step.outcome(); // rethrows
        got.emplace(std::in_place_index<Index>, std::move(*one.item));
    }

    select_priority* order_;
    std::tuple<buffer_branch<Buffers>...> branches_;
    branch_array all_;
};

} // namespace detail

/// `const auto got = co_await select(a, b)`: waits until one of the buffers has an item, and takes that: a
/// std::optional of a std::variant whose index() says which buffer it is from. Buffers that are closed and
/// empty are passed over. Empty: all are, or a stop was requested. A look begins with another buffer each
/// time. Throws what an item's move constructor throws.
///
/// If the coroutine is destroyed after it has got an item and before it could go on, the item is destroyed.
template <class... Buffers>
    requires(sizeof...(Buffers) > 0) && (requires { typename Buffers::pop_step; } && ...)
[[nodiscard]] auto select(Buffers&... buffers) noexcept {
    return detail::select_awaiter<Buffers...>(nullptr, buffers...);
}
/// The same, looking at the buffers in the order given, up to a number of times in a row.
template <class... Buffers>
    requires(sizeof...(Buffers) > 0) && (requires { typename Buffers::pop_step; } && ...)
[[nodiscard]] auto select(select_priority& order, Buffers&... buffers) noexcept {
    return detail::select_awaiter<Buffers...>(&order, buffers...);
}

} // namespace ekiden::inline EKIDEN_ABI

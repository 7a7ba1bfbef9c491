/// The outcome of a push or a pop. Every queue of the library uses the type queue_status.
///
/// Part: sync. Used by: users, through the queues.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The outcome of a push or a pop.
enum class queue_status : std::uint8_t {
    done,
    would_wait, ///< a try_ function found no room for a push, or found no item for a pop
    timed_out,  ///< the deadline of the limit has passed
    stopped,    ///< a stop was requested
    closed      ///< a push found the queue closed, or a pop found the queue closed and empty
};

/// The result of a pop, which consists of an optional item and a status.
///
/// The status is queue_status::done if and only if there is an item. Any other status is the reason why there
/// is no item.
template <class T>
class [[nodiscard]] popped : public std::optional<T> {
public:
    /// Constructs an empty result. `status` is the reason why there is no item.
    constexpr explicit popped(queue_status status) noexcept : status_(status) {}
    /// Constructs a result with the status done, and constructs its item from `args`.
    template <class... Args>
    constexpr explicit popped(std::in_place_t, Args&&... args)
        : std::optional<T>(std::in_place, std::forward<Args>(args)...) {}

    /// Returns whether there is an item.
    constexpr explicit operator bool() const& noexcept { return this->has_value(); }
    /// This conversion is deleted for items of type `bool`. Otherwise, `std::optional<bool>
    /// item(buffer.pop())` would call this conversion, and would lose the item.
    constexpr explicit operator bool() const&&
        requires std::same_as<std::remove_cv_t<T>, bool>
    = delete;
    /// Returns the outcome of the pop.
    [[nodiscard]] constexpr queue_status status() const noexcept { return status_; }

    /// Calls `pop` with an empty optional. `pop` stores the item in this optional and returns the status.
    /// Returns the result. Queues use this function to construct the item in its final place.
    template <class Pop>
    [[nodiscard]] static popped from(Pop&& pop) {
        popped result(queue_status::closed);
        result.status_ = std::forward<Pop>(pop)(static_cast<std::optional<T>&>(result));
        return result;
    }

private:
    queue_status status_ = queue_status::done;
};

} // namespace ekiden::inline EKIDEN_ABI

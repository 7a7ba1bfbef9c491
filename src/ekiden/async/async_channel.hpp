/// Awaitable batches of a channel. The single pushes and pops are in async_buffer.hpp.
///
/// Part: async. Used by: programs. The page locks.md has the rules of all awaited operations, including stops
/// and deadlines.
#pragma once

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/sync/channel.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// `const pushed_range r = co_await async_push_range(ch, items)`: moves the items of `items` into the
/// channel, in order, like async_push(ch, item). Returns how many items were added, and the status of the
/// last push. If the status is not `done`, the other items are unchanged. `ch` and the items must outlive the
/// call. If a push throws, the items before it have been added.
template <class T>
coroutine<pushed_range> async_push_range(channel<T>& ch, std::span<T> items) {
    pushed_range result;
    for (T& item : items) {
        result.status = co_await ekiden::async_push(ch, std::move(item));
        if (result.status != queue_status::done) break;
        ++result.count;
    }
    co_return result;
}

/// `const queue_status s = co_await async_pop_up_to(ch, items, most)`: waits for an item like async_pop(ch),
/// and appends it to `to`. Then also appends the items that are there, up to `most` items in all. Returns
/// `done` if an item was appended, or if `most` is 0. Otherwise, returns the status of the pop. `ch` and `to`
/// must outlive the call. Throws std::bad_alloc before an item is removed.
template <class T>
coroutine<queue_status> async_pop_up_to(channel<T>& ch, std::vector<T>& to, std::size_t most) {
    if (most == 0) co_return queue_status::done;
    detail::grow(to);
    popped<T> item = co_await ekiden::async_pop(ch);
    if (!item) co_return item.status();
    to.push_back(*std::move(item));
    ch.pop_available(to, most - 1);
    co_return queue_status::done;
}

} // namespace ekiden::inline EKIDEN_ABI

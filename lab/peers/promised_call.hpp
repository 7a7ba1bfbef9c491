/// Submit-and-wait for systems without futures, by std::promise and std::future around post().
///
/// Used by: the peers whose users would write exactly this.
#pragma once

#include <future>
#include <utility>

namespace lab::peers {

/// Calls `post` once with a callable of two words. Returns what `f` returns on the other thread.
template <class Post, class F>
auto promised_call(Post&& post, F f) {
    std::promise<decltype(f())> promise;
    auto future = promise.get_future();
    post([p = std::move(promise), f]() mutable { p.set_value(f()); });
    return future.get();
}

} // namespace lab::peers

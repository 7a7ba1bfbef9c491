/// Submit-and-wait for systems without futures: std::promise and std::future around post().
///
/// Used by: the peers whose users would write just that.
#pragma once

#include <future>
#include <utility>

namespace lab::peers {

/// `post` is called once with a callable of two words; returns what `f` returns on whichever thread.
template <class Post, class F>
auto promised_call(Post&& post, F f) {
    std::promise<decltype(f())> promise;
    auto future = promise.get_future();
    post([p = std::move(promise), f]() mutable { p.set_value(f()); });
    return future.get();
}

} // namespace lab::peers

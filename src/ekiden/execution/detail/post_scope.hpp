/// Lets a thread outside of a context post in several steps, as one step for the context.
///
/// Part: execution. Used by: strands, lanes, pool. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/execution_context.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The way of outside threads into a context, such as a pool. A context without tasks may be about to end, or
/// may count as idle. It does neither while a thread is in its entrance. Thread-safe.
class entrance {
public:
    enum class way : unsigned char {
        refused, ///< the context accepts no tasks from this thread, which must not call leave()
        as_post, ///< a later end of the context waits for leave()
        as_work  ///< the thread counts as outstanding work, even if the end of the context has begun
    };

    /// Enters, unless the context refuses tasks of this thread. With `is_due`, the thread enters even then,
    /// because it ends something that was accepted earlier. Called by threads that run no task of the
    /// context.
    [[nodiscard]] virtual way enter(bool is_due) noexcept = 0;
    /// Leaves the entrance. `entered` is what enter() has returned. The context may be destroyed before the
    /// call returns.
    virtual void leave(way entered) noexcept = 0;

protected:
    entrance() = default;
    ~entrance() = default;
};

/// A post to a strand has two steps. It first pushes a function, and then gives the drain of the strand to
/// the inner context. Between the two steps, another thread may push its own function behind the first one.
/// The post of this thread returns, so its function is accepted, but the inner context does not know about
/// the function yet. Therefore the first thread is in a post_scope during both steps. If the inner context is
/// joined meanwhile, it waits for the end of the scope, and accepts the drain.
///
/// Lanes also use scopes when they abandon or withdraw requests, because this makes other functions ready.
///
/// While a thread is in a scope, it must not wait for other threads. A scope has no effect of its own inside
/// a task of the context, or inside another scope of the context.
class [[nodiscard]] post_scope {
public:
    enum class why : unsigned char {
        post, ///< the context may refuse the thread
        due   ///< the functions were accepted earlier, so the context must not refuse the thread
    };

    explicit post_scope(const execution_context& to, why reason = why::post) noexcept {
        entrance* const way_in = to.entrance_of_posts();
        if (way_in == nullptr || role_scope::find(to.id()) != nullptr || is_in(*way_in)) return;
        way_ = way_in->enter(reason == why::due);
        if (is_refused()) return;
        entrance_ = way_in;
        outer_ = std::exchange(thread_record::here().entered, this);
    }
    ~post_scope() {
        if (entrance_ == nullptr) return;
        thread_record::here().entered = outer_;
        entrance_->leave(way_);
    }
    post_scope(const post_scope&) = delete;
    post_scope& operator=(const post_scope&) = delete;

    /// Returns whether the context accepts no tasks from this thread.
    [[nodiscard]] bool is_refused() const noexcept { return way_ == entrance::way::refused; }

    /// Returns whether the calling thread is in a scope with this entrance.
    [[nodiscard]] static bool is_in(const entrance& way_in) noexcept {
        const post_scope* s = thread_record::here().entered;
        while (s != nullptr && s->entrance_ != &way_in) s = s->outer_;
        return s != nullptr;
    }

private:
    entrance* entrance_ = nullptr; // null if the thread has entered nothing
    const post_scope* outer_ = nullptr;
    entrance::way way_ = entrance::way::as_post;
};

} // namespace ekiden::inline EKIDEN_ABI

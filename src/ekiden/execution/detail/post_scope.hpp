/// Lets a thread outside of a context post in several steps, as one step for the context.
///
/// Part: execution. Used by: strands, lanes, pool. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/execution_context.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The way of outside threads into a context, such as a pool. A context without tasks may be about to end, or
/// may count as idle. It does neither while a thread is in its entrance.
class entrance {
public:
    /// How a thread has entered. leave() needs this value.
    enum class way : unsigned char {
        refused, ///< the context accepts no tasks from this thread, which must not call leave()
        inside,  ///< the thread runs a task of the context, so it has not entered, and must not call leave()
        as_post, ///< a later end of the context waits for leave()
        as_work  ///< the end of the context has begun, and waits for leave() as for outstanding work
    };

    /// Any thread: enters, unless the context refuses tasks of this thread. With `is_due`, the thread enters
    /// even then, because it ends something that was accepted earlier.
    [[nodiscard]] virtual way enter(bool is_due) noexcept = 0;
    /// Leaves. The context may be destroyed before the call returns.
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
/// While a thread is in a scope, it must not wait for other threads. A scope inside a scope of the same
/// context has no effect of its own.
class [[nodiscard]] post_scope {
public:
    enum class why : unsigned char {
        post, ///< the context may refuse the thread
        due   ///< the functions were accepted earlier, so the context must not refuse the thread
    };

    explicit post_scope(const execution_context& to, why reason = why::post) noexcept
        : entrance_(to.entrance_of_posts()) {
        if (entrance_ == nullptr) return;
        const void*& entered = thread_record::here().entered;
        if (entered == entrance_) return;
        way_ = entrance_->enter(reason == why::due);
        if (has_entered()) outer_ = std::exchange(entered, entrance_);
    }
    ~post_scope() {
        if (!has_entered()) return;
        thread_record::here().entered = outer_;
        entrance_->leave(way_);
    }
    post_scope(const post_scope&) = delete;
    post_scope& operator=(const post_scope&) = delete;

    /// Returns whether the context accepts no tasks from this thread.
    [[nodiscard]] bool is_refused() const noexcept { return way_ == entrance::way::refused; }

private:
    [[nodiscard]] bool has_entered() const noexcept { return way_ >= entrance::way::as_post; }

    entrance* const entrance_; // null if the context never refuses a task before it ends
    entrance::way way_ = entrance::way::inside;
    const void* outer_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI

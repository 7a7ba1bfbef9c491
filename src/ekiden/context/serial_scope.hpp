/// Records the strands and lanes whose tasks the calling thread is running.
///
/// Part: context. Used by: execution, lanes, pool, loop.
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An object on the stack of a thread. While the object exists, the thread runs a task of one strand or lane.
/// A thread has several serial_scope objects if a strand runs on another strand, or if a task dispatches to
/// another strand.
class serial_scope {
public:
    /// `id` is an address that identifies the strand or lane. The function is_inside() searches for this
    /// address.
    explicit serial_scope(const void* id) noexcept
        : record_(thread_record::here()), id_(id), outer_(std::exchange(record_.serial, this)) {}
    ~serial_scope() { record_.serial = outer_; }
    serial_scope(const serial_scope&) = delete;
    serial_scope& operator=(const serial_scope&) = delete;

    /// Returns whether the calling thread is running a task of the strand or lane `id`.
    [[nodiscard]] static bool is_inside(const void* id) noexcept {
        for (const serial_scope* s = thread_record::here().serial; s != nullptr; s = s->outer_) {
            if (s->id_ == id) return true;
        }
        return false;
    }

    /// Returns true if is_inside() returns true, or if a hidden_scopes object hides a task of the strand or
    /// lane `id`. A strand with a hidden task makes no progress until the thread returns to this task.
    [[nodiscard]] static bool is_beneath(const void* id) noexcept;

private:
    thread_record& record_;
    const void* const id_;
    const serial_scope* const outer_;
};

/// While this object exists, the thread counts as outside all strands, lanes, flat calls, resumptions and
/// posts of coroutines. A thread may run other tasks in the middle of one of these. Before that, the thread
/// creates a hidden_scopes object.
class hidden_scopes {
public:
    hidden_scopes() noexcept
        : record_(thread_record::here()), marks_(std::exchange<task_marks>(record_, {})),
          outer_(std::exchange(record_.hidden, this)) {}
    ~hidden_scopes() {
        static_cast<task_marks&>(record_) = marks_;
        record_.hidden = outer_;
    }
    hidden_scopes(const hidden_scopes&) = delete;
    hidden_scopes& operator=(const hidden_scopes&) = delete;

private:
    friend class serial_scope;

    thread_record& record_;
    const task_marks marks_;
    const hidden_scopes* const outer_;
};

inline bool serial_scope::is_beneath(const void* id) noexcept {
    if (is_inside(id)) return true;
    for (const hidden_scopes* h = thread_record::here().hidden; h != nullptr; h = h->outer_) {
        for (const serial_scope* s = h->marks_.serial; s != nullptr; s = s->outer_) {
            if (s->id_ == id) return true;
        }
    }
    return false;
}

} // namespace ekiden::inline EKIDEN_ABI

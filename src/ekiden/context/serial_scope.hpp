/// Which strands and lanes the calling thread is inside of.
///
/// Part: context. Used by: strands and lanes (enter), workers and loops (hide them while they run something
/// else).
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The thread runs a task of something that runs one at a time, until the end of this object, which lies on
/// the thread's stack. They nest: a strand on a strand is one reason, a task that dispatches to another
/// strand is one more.
class serial_scope {
public:
    /// `id` is what is_inside() asks for: an address that belongs to the strand or lane.
    explicit serial_scope(const void* id) noexcept
        : record_(thread_record::here()), id_(id), outer_(std::exchange(record_.serial, this)) {}
    ~serial_scope() { record_.serial = outer_; }
    serial_scope(const serial_scope&) = delete;
    serial_scope& operator=(const serial_scope&) = delete;

    /// Whether the calling thread is inside of `id`.
    [[nodiscard]] static bool is_inside(const void* id) noexcept {
        for (const serial_scope* s = thread_record::here().serial; s != nullptr; s = s->outer_) {
            if (s->id_ == id) return true;
        }
        return false;
    }

    /// The same, also while that is hidden: `id` does not get on before the thread returns to it.
    [[nodiscard]] static bool is_beneath(const void* id) noexcept;

private:
    thread_record& record_;
    const void* const id_;
    const serial_scope* const outer_;
};

/// Until its end the thread is inside of nothing, no flat call either: it runs others' tasks in the middle of
/// one of a strand, or of a call.
class hidden_scopes {
public:
    hidden_scopes() noexcept
        : record_(thread_record::here()), serial_(std::exchange(record_.serial, nullptr)),
          flat_calls_(std::exchange(record_.flat_calls, nullptr)),
          outer_(std::exchange(record_.hidden, this)) {}
    ~hidden_scopes() {
        record_.serial = serial_;
        record_.flat_calls = flat_calls_;
        record_.hidden = outer_;
    }
    hidden_scopes(const hidden_scopes&) = delete;
    hidden_scopes& operator=(const hidden_scopes&) = delete;

private:
    friend class serial_scope;

    thread_record& record_;
    const serial_scope* const serial_;
    flat_call** const flat_calls_;
    const hidden_scopes* const outer_;
};

inline bool serial_scope::is_beneath(const void* id) noexcept {
    if (is_inside(id)) return true;
    for (const hidden_scopes* h = thread_record::here().hidden; h != nullptr; h = h->outer_) {
        for (const serial_scope* s = h->serial_; s != nullptr; s = s->outer_) {
            if (s->id_ == id) return true;
        }
    }
    return false;
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/context/held_locks.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

// A program may contain two configurations of the library, so the symbol may have several definitions. The
// programs of the lab contain two configurations.
extern "C" EKIDEN_ONE_OF_MANY const char EKIDEN_SAME_LOCK_CHECKS = 0;

namespace ekiden::inline EKIDEN_ABI::detail {
namespace {

struct held_lock {
    const void* lock;
    const char* kind;
    held how;
};

struct held_locks {
    std::array<held_lock, most_held> locks;
    std::size_t count;
    std::size_t forgotten; // the number of locks that the thread acquired while the array was full
    shown_locks* shown;    // null if the thread does not show its locks to other threads

    held_lock* begin() noexcept { return locks.data(); }
    held_lock* end() noexcept { return locks.data() + count; }
    held_lock* find(const void* lock) noexcept {
        return std::find_if(begin(), end(), [=](const held_lock& one) { return one.lock == lock; });
    }

    static held_locks& of_this_thread() noexcept { return sys::local<held_locks>(); }
};

[[noreturn]] void report(const char* operation, const char* kind, const char* what) noexcept {
    char text[200];
    std::snprintf(text, sizeof text, "%s of %s %s", operation, kind, what);
    sys::contract_broken(text);
}

} // namespace

void show_locks(shown_locks* there) noexcept {
    held_locks::of_this_thread().shown = there;
    if (there == nullptr) return;
    there->set_wanted(nullptr);
    for (std::size_t i = 0; i != most_held; ++i) there->set_held(i, nullptr);
}

void note_held(const void* lock, const char* kind, held how) noexcept {
    held_locks& mine = held_locks::of_this_thread();
    if (mine.shown != nullptr) {
        mine.shown->set_held(mine.count, lock);
        mine.shown->set_wanted(nullptr);
    }
    if (mine.count < mine.locks.size())
        mine.locks[mine.count++] = {lock, kind, how};
    else
        ++mine.forgotten;
}

void note_released(const void* lock) noexcept {
    held_locks& mine = held_locks::of_this_thread();
    held_lock* const found = mine.find(lock);
    if (found != mine.end()) {
        *found = mine.locks[--mine.count];
        if (mine.shown != nullptr) {
            mine.shown->set_held(static_cast<std::size_t>(found - mine.begin()), found->lock);
            mine.shown->set_held(mine.count, nullptr);
        }
    } else if (mine.forgotten > 0)
        --mine.forgotten;
}

void note_served() noexcept {
    held_locks& mine = held_locks::of_this_thread();
    if (mine.shown != nullptr) mine.shown->set_wanted(nullptr);
}

held is_held(const void* lock) noexcept {
    held_locks& mine = held_locks::of_this_thread();
    const held_lock* const found = mine.find(lock);
    return found != mine.end() ? found->how : held::no;
}

void expect_not_held(const void* lock, const char* kind, const char* operation) noexcept {
    if (is_held(lock) != held::no)
        report(operation, kind, "that this thread holds: it would wait for itself");
    held_locks& mine = held_locks::of_this_thread();
    if (mine.shown != nullptr) mine.shown->set_wanted(lock);
}

void expect_held(const void* lock, const char* kind, held how, const char* operation, bool is_free) noexcept {
    const held now = is_held(lock);
    if (now == how) return;
    if (now == held::shared) report(operation, kind, "that this thread holds shared");
    if (now == held::alone) report(operation, kind, "that this thread holds alone");
    if (now == held::inside) report(operation, kind, "in a section that the lock runs");
    if (held_locks::of_this_thread().forgotten > 0) return;
    report(operation, kind, is_free ? "that is free" : "that this thread does not hold");
}

void expect_free(const char* kind, bool is_free) noexcept {
    if (!is_free) report("end", kind, "that is held");
}

void expect_no_lock_held(const char* operation) noexcept {
    held_locks& mine = held_locks::of_this_thread();
    if (mine.count == 0) return;
    char text[200];
    std::snprintf(text, sizeof text, "%s: this thread waits for the work of others while it holds %s",
                  operation, mine.locks[mine.count - 1].kind);
    sys::contract_broken(text);
}

} // namespace ekiden::inline EKIDEN_ABI::detail

#include <ekiden/context/suppressed_exceptions.hpp>

#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace {

struct suppressed_list {
    detail::exception_list* list = nullptr; // null if empty
    bool is_owned = false;                  // true if free_suppressed() will run when the thread ends
};

/// Runs when the thread ends. Destructors of static objects may use the list even after this call.
void free_suppressed(void*) {
    auto& mine = sys::local<suppressed_list>();
    mine.is_owned = false;
    delete std::exchange(mine.list, nullptr);
}

} // namespace

std::vector<std::exception_ptr> suppressed_exceptions() {
    const auto* const list = sys::local<suppressed_list>().list;
    return list != nullptr ? *list : detail::exception_list();
}

void detail::replace_suppressed(std::unique_ptr<exception_list> list) noexcept {
    auto& mine = sys::local<suppressed_list>();
    // The old list is destroyed last, because the destructor of an exception may use the list of this thread.
    const std::unique_ptr<exception_list> before(std::exchange(mine.list, list.release()));
    if (mine.list == nullptr || mine.is_owned) return;
    try {
        mine.is_owned = sys::at_thread_exit(&free_suppressed, nullptr);
    } catch (...) { // there is no memory, so the list is dropped below
    }
    if (!mine.is_owned) delete std::exchange(mine.list, nullptr);
}

void detail::replace_suppressed(exception_list list) noexcept {
    std::unique_ptr<exception_list> kept;
    if (!list.empty()) {
        try {
            kept = std::make_unique<exception_list>(std::move(list));
        } catch (...) { // there is no memory, so the exceptions are dropped
        }
    }
    replace_suppressed(std::move(kept));
}

std::unique_ptr<detail::exception_list> detail::take_suppressed() noexcept {
    return std::unique_ptr<exception_list>(std::exchange(sys::local<suppressed_list>().list, nullptr));
}

} // namespace ekiden::inline EKIDEN_ABI

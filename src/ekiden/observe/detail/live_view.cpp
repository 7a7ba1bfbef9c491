#include <ekiden/observe/live_view.hpp>

#include <ekiden/observe/detail/text.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI {

std::string to_text(const live_line& line) {
    const std::string seconds = text::fixed(line.seconds, 2);
    return std::string(6 - std::min<std::size_t>(seconds.size(), 6), ' ') + seconds + " |" + line.columns
           + "| " + std::to_string(line.running);
}

live_view::live_view(std::size_t columns, options chosen) : live_view(columns, nullptr, std::move(chosen)) {}

live_view::live_view(std::size_t columns, std::function<std::string()> activity, options chosen)
    : chosen_(std::move(chosen)), activity_(std::move(activity)), columns_(columns),
      shown_(std::make_unique<sys::atomic<std::uint32_t>[]>(columns)), generation_(sys::fork_generation()) {
    if (chosen_.interval < std::chrono::milliseconds(1))
        sys::refuse_argument("live_view", "interval", std::to_string(chosen_.interval.count()) + " ms",
                             "1 ms or more");
    thread_ = std::make_unique<sys::thread>(sys::start_thread("live_view", "its thread", [this] { run(); }));
}

live_view::~live_view() {
    if (is_in_forked_child()) {
        (void)thread_.release(); // the thread does not exist in the child process
        return;
    }
    leaves_.store(1, sys::relaxed);
    sys::futex_wake(leaves_);
    thread_->join();
    show();
}

live_view::task::task(live_view& view, std::size_t column)
    : shown_(column < view.columns_
                 ? view.shown_[column]
                 : throw std::out_of_range("ekiden: live_view: column is " + std::to_string(column)
                                           + "; there are " + std::to_string(view.columns_))) {
    shown_.store(view.number_of_this_thread(), sys::relaxed);
}

/// Returns whether this process is a child of the process that created the view. In a child process, the
/// view's thread does not exist. A thread that does not exist may hold the lock.
bool live_view::is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

std::uint32_t live_view::number_of_this_thread() {
    if (is_in_forked_child()) return none;
    const std::lock_guard guard(lock_);
    return numbers_.try_emplace(sys::system_thread_id(), static_cast<std::uint32_t>(numbers_.size() + 1))
        .first->second;
}

std::size_t live_view::threads() const noexcept {
    if (is_in_forked_child()) return 0;
    const std::lock_guard guard(lock_);
    return numbers_.size();
}

void live_view::run() noexcept {
    sys::set_thread_name("live-view");
    const auto step = sys::bounded(chosen_.interval);
    auto next = began_ + step;
    while (leaves_.load(sys::relaxed) == 0) {
        if (sys::futex_wait_until(leaves_, 0, next)) continue;
        show();
        next = std::max(next + step, sys::clock::now()); // if `show` is slow, the view skips lines
    }
}

void live_view::show() noexcept {
    try {
        const live_line line = look();
        if (chosen_.show)
            chosen_.show(line);
        else
            std::fputs((to_text(line) + '\n').c_str(), stderr);
    } catch (const std::bad_alloc&) { // no memory, so the view omits this line
    }
}

live_line live_view::look() const {
    live_line line{.seconds = std::chrono::duration<double>(sys::clock::now() - began_).count()};
    if (activity_) {
        line.columns = activity_();
        line.running =
            static_cast<std::size_t>(std::count_if(line.columns.begin(), line.columns.end(), [](char sign) {
                return std::string_view("#bw").find(sign) != std::string_view::npos;
            }));
        return line;
    }
    line.columns.reserve(columns_);
    for (std::size_t i = 0; i != columns_; ++i) {
        const std::uint32_t number = shown_[i].load(sys::relaxed);
        const bool runs = number != none && number != ended;
        line.running += runs ? 1U : 0U;
        line.columns += runs ? letters[(number - 1) % letters.size()] : number == none ? ' ' : '.';
    }
    return line;
}

} // namespace ekiden::inline EKIDEN_ABI

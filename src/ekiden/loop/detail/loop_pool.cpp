#include <ekiden/loop/loop_pool.hpp>

#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/execution/detail/thread_hooks.hpp>
#include <ekiden/execution/detail/unhandled.hpp>
#include <ekiden/loop/detail/busy_loops.hpp>
#include <ekiden/loop/detail/solo_loop.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/start_thread.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace {

unsigned checked_count(const loop_pool_options& options) {
    if (options.threads > loop_pool_options::most_threads) {
        sys::refuse_argument("loop_pool", "threads", options.threads,
                             "0 (one per usable processor) to "
                                 + std::to_string(loop_pool_options::most_threads));
    }
    return options.threads != 0 ? options.threads : sys::usable_concurrency();
}

} // namespace

/// The contexts of a pool and the threads that run them.
class loop_threads {
public:
    explicit loop_threads(loop_pool_options chosen);
    ~loop_threads();
    loop_threads(const loop_threads&) = delete;
    loop_threads& operator=(const loop_threads&) = delete;

    void stop() noexcept;
    [[nodiscard]] bool join(const wait_limit& limit);

    [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }
    [[nodiscard]] loop_context::executor_type executor(std::size_t index) const noexcept {
        return loops_[index]->get_executor();
    }
    [[nodiscard]] std::size_t next() noexcept { return turn_.fetch_add(1, sys::relaxed) % loops_.size(); }
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }
    [[nodiscard]] bool is_of_this_thread() const noexcept { return is_started_by(id_); }
    /// Ends the program, because a thread of the pool destroys the pool.
    [[noreturn]] void refuse_destruction_here() const noexcept;

private:
    void live(unsigned index) noexcept;
    void run(loop_context& loop) noexcept;
    void report_unhandled(const solo_loop& loop) const noexcept;
    void end() noexcept;

    const context_id id_ = context_id::next(); // each thread stores this id as its owner
    const loop_pool_options options_;
    const std::uint16_t generation_; // the fork generation in which the pool was constructed
    std::vector<std::unique_ptr<loop_context>> loops_;
    std::vector<int> processors_; // the threads are pinned to these processors; empty if they are not pinned
    std::vector<sys::thread> threads_;
    sys::atomic<std::size_t> turn_{0};
    binary_semaphore joining_{1}; // the holder of the permit may end the pool
    alignas(sys::isolation) busy_loops busy_;
};

loop_threads::loop_threads(loop_pool_options chosen)
    : options_(std::move(chosen)), generation_(sys::fork_generation()) {
    const unsigned count = checked_count(options_);
    if (options_.is_pinned) processors_ = sys::usable_cpus();
    for (unsigned i = 0; i != count; ++i) {
        loops_.push_back(std::make_unique<loop_context>(1));
        loops_.back()->solo_->enter_pool(busy_);
    }
    threads_.reserve(count);
    try {
        for (unsigned i = 0; i != count; ++i)
            threads_.push_back(sys::start_thread("loop_pool", "a thread", [this, i] { live(i); }));
    } catch (...) {
        end();
        throw;
    }
}

void loop_threads::end() noexcept {
    for (auto& loop : loops_) loop->stop();
    for (sys::thread& t : threads_) t.join();
    threads_.clear();
}

loop_threads::~loop_threads() {
    // Shuts all contexts down and destroys all coroutines before any context is destroyed, because
    // destructors of tasks and of frames may use all contexts.
    for (auto& loop : loops_) loop->shut_down();
    for (auto& loop : loops_) loop->clear_services();
}

void loop_threads::live(unsigned index) noexcept {
    thread_record::here().owner = id_;
    sys::set_thread_name(options_.name, std::to_string(index));
    if (!processors_.empty())
        (void)sys::set_thread_affinity(std::array{processors_[index % processors_.size()]});
    call_thread_hook(options_.on_thread_start, "on_thread_start", index, options_.on_unhandled_exception);
    run(*loops_[index]);
    call_thread_hook(options_.on_thread_stop, "on_thread_stop", index, options_.on_unhandled_exception);
}

void loop_threads::run(loop_context& loop) noexcept {
    for (;;) {
        try {
            (void)loop.run();
            loop.solo_->leave_pool(); // the whole pool or only this loop has stopped
            return;
        } catch (...) {
            report_unhandled(*loop.solo_);
        }
    }
}

void loop_threads::report_unhandled(const solo_loop& loop) const noexcept {
    ekiden::report_unhandled(options_.on_unhandled_exception,
                             loop.running_type()(nullptr, task_request::describe));
}

void loop_threads::refuse_destruction_here() const noexcept {
    const auto inside =
        std::find_if(loops_.begin(), loops_.end(), [](auto& l) { return l->running_in_this_thread(); });
    const bool is_inside = inside != loops_.end();
    refuse_destruction("loop_pool", is_inside, is_inside ? (*inside)->solo_->running_type() : nullptr);
}

void loop_threads::stop() noexcept {
    if (is_in_forked_child()) return;
    for (auto& loop : loops_) loop->stop();
}

bool loop_threads::join(const wait_limit& limit) {
    if (is_in_forked_child()) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                                "ekiden: loop_pool::join in the child of fork(); the pool has no threads "
                                "here");
    }
    if (is_of_this_thread()) {
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "ekiden: loop_pool::join in a thread of the same pool");
    }
    const blocked_here waiting("the end of a pool of loops"); // if this is a worker of a thread_pool
    for (auto& loop : loops_) loop->count_own_scope(false);
    struct after_wait {
        loop_threads& here;
        ~after_wait() {
            for (auto& loop : here.loops_) loop->count_own_scope(true);
        }
    } const waits{*this};
    if (!joining_.acquire(limit)) return false;
    // stop() also ends this wait, because a loop is not busy after its thread has left the pool.
    const bool is_over = threads_.empty() || busy_.await_none(limit);
    if (is_over) end();
    joining_.release();
    return is_over;
}

// ---- the public class

loop_pool::loop_pool(options chosen) : threads_(std::make_unique<loop_threads>(std::move(chosen))) {}

loop_pool::~loop_pool() {
    if (threads_->is_in_forked_child()) {
        (void)threads_.release(); // the threads of the pool do not exist in the child
        return;
    }
    if (threads_->is_of_this_thread()) threads_->refuse_destruction_here();
    (void)threads_->join(wait_limit());
}

std::size_t loop_pool::size() const noexcept { return threads_->size(); }

loop_pool::executor_type loop_pool::get_executor(std::size_t index) const {
    if (index >= size()) {
        throw std::out_of_range("loop_pool::get_executor: index is " + std::to_string(index)
                                + ", allowed is 0 to " + std::to_string(size() - 1));
    }
    return threads_->executor(index);
}

loop_pool::executor_type loop_pool::get_executor() const noexcept {
    return threads_->executor(threads_->next());
}

loop_pool::executor_type loop_pool::of_hash(std::size_t hash) const noexcept {
    // std::hash of an integer is often the integer itself. Without mixing, all multiples of size() would
    // share a thread.
    const auto mixed = static_cast<std::uint64_t>(hash) * 0x9E3779B97F4A7C15U;
    return threads_->executor(static_cast<std::size_t>((mixed >> 32) * size() >> 32));
}

void loop_pool::stop() noexcept { threads_->stop(); }
void loop_pool::join() { (void)threads_->join(wait_limit()); }
bool loop_pool::join(const wait_limit& limit) { return threads_->join(limit); }

} // namespace ekiden::inline EKIDEN_ABI

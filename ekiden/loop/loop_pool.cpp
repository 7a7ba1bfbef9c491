#include <ekiden/loop/loop_pool.hpp>

#include <ekiden/execution/unhandled.hpp>
#include <ekiden/loop/solo_loop.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/start_thread.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace {

unsigned checked_count(const loop_pool_options& options) {
    if (options.threads > loop_pool_options::most_threads) {
        throw std::invalid_argument("ekiden: loop_pool: threads is " + std::to_string(options.threads)
                                    + "; allowed are 0 (one per usable processor) to "
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
    void join();

    [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }
    [[nodiscard]] loop_context::executor_type executor(std::size_t index) const noexcept {
        return loops_[index]->get_executor();
    }
    [[nodiscard]] std::size_t next() noexcept { return turn_.fetch_add(1, sys::relaxed) % loops_.size(); }
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }
    [[nodiscard]] bool is_of_this_thread() const noexcept {
        return std::any_of(loops_.begin(), loops_.end(), [](auto& l) { return l->runs_in_this_thread(); });
    }

private:
    /// What the marker of a round has found in its loop.
    struct finding {
        std::uint64_t begun = 0;
        bool has_work = false; // outstanding
        bool is_over = true;   // the loop has been stopped by itself, and its thread has ended
    };
    /// A thread of the pool, for markers.
    struct place {
        sys::atomic<bool> has_marker{false}; // that has not been counted yet
        sys::atomic<bool> has_ended{false};
    };

    void live(std::size_t index) noexcept;
    void report_unhandled(const solo_loop& loop) const noexcept;
    void drain();
    [[nodiscard]] bool send_markers(std::vector<finding>& found);
    void count_marker(std::size_t index) noexcept;
    void end() noexcept;

    // markers_: how many are under way; this bit: the pool has been stopped, and they may stay where they
    // are.
    static constexpr std::uint32_t in_vain = std::uint32_t{1} << 31;

    const loop_pool_options options_;
    const std::uint16_t generation_; // of forks
    std::vector<std::unique_ptr<loop_context>> loops_;
    std::vector<int> processors_; // a processor for each thread; empty: anywhere
    std::unique_ptr<place[]> places_;
    std::vector<sys::thread> threads_;
    sys::atomic<std::size_t> turn_{0};
    sys::slow_lock joining_;
    sys::atomic<bool> has_stopped_{false};
    sys::atomic<std::uint32_t> markers_{0};
    std::vector<finding> first_; // of two rounds, under joining_
    std::vector<finding> second_;
};

loop_threads::loop_threads(loop_pool_options chosen)
    : options_(std::move(chosen)), generation_(sys::fork_generation()) {
    const unsigned count = checked_count(options_);
    if (options_.is_pinned) processors_ = sys::usable_cpus();
    for (unsigned i = 0; i != count; ++i) {
        loops_.push_back(std::make_unique<loop_context>(1));
        executor(i).on_work_started(); // until the end
    }
    places_ = std::make_unique<place[]>(count);
    threads_.reserve(count);
    first_.resize(count);
    second_.resize(count);
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
    // Before the first context is gone: what the tasks' destructors post is refused, wherever it goes.
    for (auto& loop : loops_) loop->shut_down();
}

void loop_threads::live(std::size_t index) noexcept {
    sys::set_thread_name(options_.name + "-" + std::to_string(index));
    if (!processors_.empty())
        (void)sys::set_thread_affinity(std::array{processors_[index % processors_.size()]});
    loop_context& loop = *loops_[index];
    for (;;) {
        try {
            (void)loop.run();
            // Stopped, perhaps this loop alone: its marker is not run. [LQ3] seq_cst: the end before the look
            // at the marker; pairs with the opposite in send_markers().
            places_[index].has_ended.store(true, sys::seq_cst);
            count_marker(index);
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

void loop_threads::stop() noexcept {
    if (is_in_forked_child()) return;
    // [LQ2] seq_cst: the flag before the bit, which send_markers() may overwrite before it looks at the flag.
    has_stopped_.store(true, sys::seq_cst);
    for (auto& loop : loops_) loop->stop();
    markers_.fetch_or(in_vain, sys::seq_cst);
    sys::futex_wake_all(markers_);
}

void loop_threads::join() {
    if (is_in_forked_child()) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                                "ekiden: loop_pool::join in the child of fork(); the pool has no threads "
                                "here");
    }
    if (is_of_this_thread()) {
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "ekiden: loop_pool::join in a thread of the same pool");
    }
    const std::lock_guard guard(joining_);
    const blocked_here waiting("the end of a pool of loops"); // in a worker of a thread_pool
    if (threads_.empty()) return;
    drain();
    end();
}

/// Returns when nothing is left to do, on any of the threads. Two rounds of markers show it. In the first one
/// each loop had no outstanding work; and no loop has run anything but the marker between its two. So what a
/// task has posted, it has posted before the first marker of its loop, thus before the second one of the
/// other loop, and it would have been run in between: there was none. And what outstanding work has posted
/// came before the first round.
void loop_threads::drain() {
    for (;;) {
        for (auto& loop : loops_) loop->solo_->await_work(1);
        if (!send_markers(first_) || !send_markers(second_)) return;
        bool is_quiet = true;
        for (std::size_t i = 0; i != size(); ++i) {
            const finding& a = first_[i];
            const finding& b = second_[i];
            is_quiet =
                is_quiet && a.is_over == b.is_over && (a.is_over || (!a.has_work && b.begun == a.begun + 1));
        }
        if (is_quiet) return;
    }
}

/// It has been run, or never will be.
void loop_threads::count_marker(std::size_t index) noexcept {
    if (!places_[index].has_marker.exchange(false, sys::seq_cst)) return; // [LQ3]
    // [LQ1] release: the finding; pairs with the acquire in send_markers().
    if (markers_.fetch_sub(1, sys::release) == 1) sys::futex_wake_all(markers_);
}

/// Posts a marker to each loop, and waits until all have run. False if the pool was stopped meanwhile.
bool loop_threads::send_markers(std::vector<finding>& found) {
    markers_.store(static_cast<std::uint32_t>(size()), sys::seq_cst); // [LQ2]
    if (has_stopped_.load(sys::seq_cst)) return false;
    for (std::size_t i = 0; i != size(); ++i) {
        found[i] = {};
        places_[i].has_marker.store(true, sys::seq_cst); // [LQ3]
        executor(i).post([this, i, &found] {
            const solo_loop& here = *loops_[i]->solo_;
            found[i] = {here.begun(), here.outstanding() > 1, false};
            count_marker(i);
        });
        if (places_[i].has_ended.load(sys::seq_cst)) count_marker(i);
    }
    for (;;) {
        const std::uint32_t left = markers_.load(sys::acquire); // [LQ1]
        if (left == 0) return true;
        if ((left & in_vain) != 0) return false;
        sys::futex_wait(markers_, left);
    }
}

// ---- the face

loop_pool::loop_pool(options chosen) : threads_(std::make_unique<loop_threads>(std::move(chosen))) {}

loop_pool::~loop_pool() {
    if (threads_->is_in_forked_child()) {
        (void)threads_.release(); // its threads do not exist here
        return;
    }
    sys::expects(!threads_->is_of_this_thread(), "a loop_pool is destroyed in one of its threads");
    try {
        threads_->join();
    } catch (...) { // no memory for the markers
        threads_->stop();
        threads_->join();
    }
}

std::size_t loop_pool::size() const noexcept { return threads_->size(); }

loop_pool::executor_type loop_pool::executor(std::size_t index) const {
    if (index >= size()) {
        throw std::out_of_range("ekiden: loop_pool::executor: the index is " + std::to_string(index)
                                + "; allowed are 0 to " + std::to_string(size() - 1));
    }
    return threads_->executor(index);
}

loop_pool::executor_type loop_pool::next_executor() const noexcept {
    return threads_->executor(threads_->next());
}

loop_pool::executor_type loop_pool::of_hash(std::size_t hash) const noexcept {
    // Of numbers std::hash is the number itself: multiples of the number of threads would all meet.
    const auto mixed = static_cast<std::uint64_t>(hash) * 0x9E3779B97F4A7C15U;
    return threads_->executor(static_cast<std::size_t>((mixed >> 32) * size() >> 32));
}

void loop_pool::stop() noexcept { threads_->stop(); }
void loop_pool::join() { threads_->join(); }

} // namespace ekiden::inline EKIDEN_ABI

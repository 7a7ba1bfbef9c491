#include <ekiden/pool/thread_pool.hpp>

#include <ekiden/pool/scheduler.hpp>

namespace ekiden::inline EKIDEN_ABI {

thread_pool::thread_pool(options chosen)
    : scheduler_(std::make_unique<scheduler>(*this, std::move(chosen))) {}

thread_pool::~thread_pool() {
    if (scheduler_->is_in_forked_child()) {
        // The workers' threads do not exist here, and what they were doing is lost.
        (void)scheduler_.release();
        return;
    }
    scheduler_->join();
}

bool thread_pool::accept(task* accepted, priority level) { return scheduler_->submit(accepted, level); }
void thread_pool::report_unhandled(const char* type) noexcept { scheduler_->report_unhandled(type); }
void thread_pool::wait_idle() { scheduler_->wait_idle(); }
void thread_pool::pause() noexcept { scheduler_->pause(); }
void thread_pool::resume() noexcept { scheduler_->resume(); }
void thread_pool::stop() noexcept { scheduler_->stop(); }
void thread_pool::join() { scheduler_->join(); }
unsigned thread_pool::thread_count() const noexcept { return scheduler_->thread_count(); }
bool thread_pool::runs_in_this_thread() const noexcept { return scheduler_->this_worker() != nullptr; }
thread_pool_metrics thread_pool::metrics() const { return scheduler_->metrics(); }

} // namespace ekiden::inline EKIDEN_ABI

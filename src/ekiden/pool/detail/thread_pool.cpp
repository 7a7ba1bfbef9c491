#include <ekiden/pool/thread_pool.hpp>

#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/worker.hpp>
#include <ekiden/sys/bad_argument.hpp>

namespace ekiden::inline EKIDEN_ABI {

thread_pool::thread_pool(options chosen)
    : scheduler_(std::make_unique<scheduler>(
          *this, [](thread_pool& self) noexcept { self.shut_down_services(); }, std::move(chosen))) {
    set_gate(scheduler_->gate(), gate_bit::refuses_all, gate_bit::stopped | gate_bit::paused,
             gate_bit::refuses_outside);
    set_entrance(scheduler_->entrance_of_posts());
}

thread_pool::~thread_pool() {
    if (scheduler_->is_in_forked_child()) {
        // The threads of the workers do not exist in the child, and the tasks that they were running are
        // lost.
        (void)scheduler_.release();
    } else {
        if (is_started_by(id()) || running_in_this_thread()) scheduler_->refuse_destruction_here();
        (void)scheduler_->join(wait_limit());
        end_services(); // no thread is left that may use the services
    }
}

void thread_pool::refuse_number(const std::string& threads) {
    sys::refuse_argument("thread_pool", "threads", threads,
                         "0 (one per usable processor) to " + std::to_string(options::most_threads));
}

bool thread_pool::accept(task* accepted, priority level, task_order order) {
    return scheduler_->submit(accepted, level, order);
}
void thread_pool::keep(task* operation) noexcept { scheduler_->keep(operation); }
void thread_pool::report_unhandled(const char* type) noexcept { scheduler_->report_unhandled(type); }
void thread_pool::work_started() noexcept { scheduler_->work_started(); }
void thread_pool::work_finished() noexcept { scheduler_->work_finished(); }
void thread_pool::wait_idle() { (void)scheduler_->wait_idle(wait_limit()); }
bool thread_pool::wait_idle(const wait_limit& limit) { return scheduler_->wait_idle(limit); }
void thread_pool::pause() noexcept { scheduler_->pause(); }
void thread_pool::resume() noexcept { scheduler_->resume(); }
void thread_pool::stop() noexcept { scheduler_->stop(); }
void thread_pool::join() { (void)scheduler_->join(wait_limit()); }
bool thread_pool::join(const wait_limit& limit) { return scheduler_->join(limit); }
unsigned thread_pool::thread_count() const noexcept { return scheduler_->threads().base(); }
unsigned thread_pool::follow_processors() {
    scheduler_->threads().follow();
    return thread_count();
}
unsigned thread_pool::max_thread_count() const noexcept { return scheduler_->threads().most(); }
bool thread_pool::running_in_this_thread() const noexcept { return scheduler_->this_worker() != nullptr; }
std::optional<unsigned> thread_pool::this_worker_index() const noexcept {
    const worker* const here = scheduler_->this_worker();
    return here != nullptr ? std::optional(here->index()) : std::nullopt;
}
std::string thread_pool::activity() const { return scheduler_->activity(); }
void thread_pool::dump(int file) const noexcept { scheduler_->dump(file, *this); }

thread_pool_metrics thread_pool::metrics() const { return scheduler_->metrics(); }

} // namespace ekiden::inline EKIDEN_ABI

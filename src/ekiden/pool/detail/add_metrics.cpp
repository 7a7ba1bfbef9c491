#include <ekiden/pool/add_metrics.hpp>

namespace ekiden::inline EKIDEN_ABI {

void add_metrics(prometheus_page& to, const thread_pool_metrics& of, std::string_view pool) {
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        to.gauge(name, help, value, {{"pool", pool}});
    };
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, value, {{"pool", pool}});
    };
    gauge("ekiden_pool_threads", "Threads.", of.threads);
    gauge("ekiden_pool_threads_wanted", "Threads that run tasks while no thread is blocked.",
          of.threads_wanted);
    counter("ekiden_pool_threads_adapted_total", "Times that this number followed the usable processors.",
            of.threads_adapted);
    gauge("ekiden_pool_threads_peak", "The most threads that there were at once.", of.peak_threads);
    gauge("ekiden_pool_threads_at_work", "Threads that run a task, or look for one.", of.threads_at_work);
    gauge("ekiden_pool_threads_blocked", "Threads that are blocked in a task.", of.threads_blocked);
    gauge("ekiden_pool_threads_standing_by", "Surplus threads, asleep until others block.",
          of.threads_standing_by);
    gauge("ekiden_pool_saturated", "1 if all threads are blocked and there may be no more.",
          of.is_saturated ? 1 : 0);
    gauge("ekiden_pool_tasks_pending", "Tasks that are queued or run.",
          static_cast<double>(of.tasks_pending));
    counter("ekiden_pool_threads_refused_total", "Times that the system gave no thread.", of.threads_refused);
    counter("ekiden_pool_stalls_total", "Times that the pool was found unable to get on.", of.stalls);
    counter("ekiden_pool_slow_tasks_total", "Tasks that were reported because they ran for long.",
            of.slow_tasks);
    counter("ekiden_pool_tasks_run_total", "Tasks that have run.", of.tasks_run);
    counter("ekiden_pool_tasks_abandoned_total", "Tasks that stop() has dropped.", of.tasks_abandoned);
    counter("ekiden_pool_tasks_stolen_total", "Tasks taken from another worker.", of.stolen);
    counter("ekiden_pool_tasks_injected_total", "Tasks taken from the queues for tasks from outside.",
            of.injected);
    counter("ekiden_pool_parks_total", "Times that a worker went to sleep.", of.parks);
    counter("ekiden_pool_wakes_total", "Times that a worker was woken for work.", of.wakes);
    to.histogram("ekiden_pool_queue_delay_seconds", "From post to run, of every 64th task of each producer.",
                 of.queue_delay, {{"pool", pool}});
}

} // namespace ekiden::inline EKIDEN_ABI

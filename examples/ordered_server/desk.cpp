#include <ordered_server/desk.hpp>
#include <ordered_server/metrics.hpp>

#include <asio/post.hpp>

namespace ordered {

void way_back::push(request& done) {
    request* before = newest_.load(std::memory_order_relaxed);
    do done.next = before;
    while (
        !newest_.compare_exchange_weak(before, &done, std::memory_order_release, std::memory_order_relaxed));
    if (before == nullptr) asio::post(network_, [this] { drain(); });
}

void way_back::drain() {
    request* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    request* oldest = nullptr;
    while (newest != nullptr) {
        request* const older = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = older;
    }
    arrive_(oldest);
}

// A full lane refuses: the connection that asked stops reading until there is room.
lane_desk::lane_desk(ekiden::thread_pool& pool, const options& chosen, way_back& back)
    : desk(back), pool_(pool),
      lanes_(pool.get_executor(), {.lane_capacity = chosen.limit.lane, .policy = ekiden::when_full::reject}) {
}

bool lane_desk::take(request& r) {
    return lanes_.post(r.of, [this, &r] { run(r); });
}

void lane_desk::join() { pool_.wait_idle(); }

void lane_desk::describe(std::string& to) const {
    const auto lanes = lanes_.metrics();
    metric(to, "lanes_active", "Keys with requests that wait or run.", lanes.active);
    metric(to, "lanes_run_total", "Requests that lanes have run.", lanes.run);
    metric(to, "lanes_refused_total", "Requests refused for want of room in their lane.", lanes.rejected);
    for (const auto& longest : lanes.delays)
        metric(to, "lane_longest_wait_ns", "The longest waits, of some keys.", longest.ns, "key",
               longest.key->key);
    const ekiden::thread_pool_metrics pool = pool_.metrics();
    metric(to, "pool_threads", "Threads of the pool.", pool.threads);
    metric(to, "pool_tasks_run_total", "Tasks that the pool has run.", pool.tasks_run);
    metric(to, "pool_tasks_pending", "Tasks that wait or run.", pool.tasks_pending);
    metric(to, "pool_queue_delay_p99_ns", "From post to run.", pool.queue_delay.quantile(0.99));
}

std::unique_ptr<desk> make_lane_desk(ekiden::thread_pool& pool, const options& chosen, way_back& back) {
    return std::make_unique<lane_desk>(pool, chosen, back);
}

} // namespace ordered

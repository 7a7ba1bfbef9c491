#include <ordered_server/desk.hpp>

#include <ekiden/async.hpp>
#include <ekiden/lanes.hpp>

namespace ordered {

void way_back::push(request& done) {
    request_link* before = newest_.load(std::memory_order_relaxed);
    do done.next = before;
    while (
        !newest_.compare_exchange_weak(before, &done, std::memory_order_release, std::memory_order_relaxed));
    if (before == nullptr) network_.post([this] { drain(); });
}

void way_back::drain() {
    request_link* newest = newest_.exchange(&looked_at_, std::memory_order_acquire);
    request_link* oldest = nullptr;
    while (newest != nullptr && newest != &looked_at_)
        newest = std::exchange(newest->next, std::exchange(oldest, newest));
    if (oldest != nullptr && arrive_(static_cast<request*>(oldest))) {
        timer_.expires_after(time_);
        return timer_.async_wait([this](std::error_code canceled) {
            if (!canceled) drain();
        });
    }
    request_link* none = &looked_at_;
    if (!newest_.compare_exchange_strong(none, nullptr, std::memory_order_relaxed))
        network_.post([this] { drain(); });
}

namespace {

class lane_desk final : public desk {
public:
    // A full lane refuses a request. The connection then stops reading until there is room.
    lane_desk(const ekiden::any_executor& workers, const options& chosen, way_back& back)
        : desk(back), log_(chosen.log), capacity_(chosen.limit.lane),
          lanes_(workers, {.lane_capacity = chosen.limit.lane, .policy = ekiden::when_full::reject}) {}

    bool take(request& r) override {
        if (r.what == verb::wait) return take_waiting(r);
        const auto work = [this, &r] { run(r); };
        if (has_several_keys(r.what)) return take_several(r, work);
        return log_ ? lanes_.post(r.of, log_->wrap(r.of->key, work)) : lanes_.post(r.of, work);
    }

    void add_to(ekiden::prometheus_page& page) const override {
        const auto lanes = lanes_.metrics();
        page.gauge("ordered_server_lanes_active", "Keys with requests that wait or run.",
                   static_cast<double>(lanes.active));
        page.counter("ordered_server_lanes_run_total", "Requests that lanes have run.", lanes.run);
        page.counter("ordered_server_lanes_refused_total", "Requests for which a lane had no room.",
                     lanes.rejected);
        for (std::size_t i = 0; i != lanes.delays.size(); ++i)
            page.gauge("ordered_server_lane_longest_wait_seconds",
                       "The longest waits since the start, of some keys.",
                       static_cast<double>(lanes.delays[i].ns) / 1e9,
                       {{"rank", std::to_string(i + 1)}, {"key", lanes.delays[i].key->key}});
    }

private:
    /// Requests that only read their keys run at the same time.
    template <class F>
    bool take_several(request& r, F work) {
        std::vector<account*> keys;
        r.for_each_account([&](account& a) { keys.push_back(&a); });
        const auto post = [&](auto f) {
            return lanes_.post(
                r.what == verb::mget ? lanes_.keys().read_all(keys) : lanes_.keys().write_all(keys), f);
        };
        // A trace has one key for each request, so the log records the first one.
        return log_ && !keys.empty() ? post(log_->wrap(keys[0]->key, work)) : post(work);
    }

    /// The coroutine keeps its lane while it sleeps. spawn_in_turn() does not say whether the lane is full,
    /// so this function asks before. Only the network thread adds requests, so the lane still has room then.
    bool take_waiting(request& r) {
        if (lanes_.depth(r.of) >= capacity_) return false;
        const auto wait = [&r]() -> ekiden::coroutine<> {
            co_await ekiden::sleep_for(std::chrono::milliseconds(r.n));
            r.run();
        };
        const auto back = [this, &r](const std::exception_ptr& failure) { ended(r, failure); };
        ekiden::spawn_in_turn(lanes_, r.of, wait, back, ekiden::spawn_options().stop(get_stop_token()));
        return true;
    }

    struct hash { // a hash of the address would differ between runs of a simulation
        std::size_t operator()(const account* of) const { return of->index; }
    };

    ekiden::request_log* const log_;
    const std::size_t capacity_;
    ekiden::lanes<account*, ekiden::any_executor, hash> lanes_;
};

} // namespace

std::unique_ptr<desk> make_lane_desk(const ekiden::any_executor& workers, const options& chosen,
                                     way_back& back) {
    return std::make_unique<lane_desk>(workers, chosen, back);
}

} // namespace ordered

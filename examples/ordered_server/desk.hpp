/// Where requests are run: those of one key one at a time and in their order, different keys in parallel.
#pragma once

#include <ordered_server/request.hpp>

#include <ekiden/execution.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/timer.hpp>

#include <atomic>
#include <functional>

namespace ordered {

/// The way of requests back to the network: a list that any thread pushes onto. The thread that finds it
/// empty wakes the network, so that many replies cost one wake-up. While there is more to do than the workers
/// can do at once, the network does not even wait to be woken: it looks from time to time.
class way_back {
public:
    using receiver = std::function<bool(request*)>;

    /// `arrive` is called on the network with those that have come, linked, in their order. It says whether
    /// the next ones may be collected for `time`.
    way_back(const ekiden::any_executor& network, std::chrono::microseconds time, receiver arrive)
        : network_(network), time_(time), arrive_(std::move(arrive)), timer_(network) {}
    void push(request& done);

private:
    void drain();

    const ekiden::any_executor network_;
    const std::chrono::microseconds time_;
    receiver arrive_;
    ekiden::steady_timer timer_;
    request_link looked_at_; // the end of the list, while the network is going to look at it
    std::atomic<request_link*> newest_{nullptr};
};

/// The lab compares others with that of lanes: lab/experiments/server.
class desk {
public:
    explicit desk(way_back& back) : back_(back) {}
    virtual ~desk() = default;
    desk(const desk&) = delete;
    desk& operator=(const desk&) = delete;

    /// Takes a request, runs it behind those of its key that came before, and hands it back. False: its key
    /// has no room now. Called on the network.
    virtual bool take(request& r) = 0;
    virtual void add_to(ekiden::prometheus_page& /*page*/) const {}

    /// From now on requests come back without having been run. Any thread.
    void give_up() noexcept { has_given_up_.store(true, std::memory_order_relaxed); }

protected:
    void run(request& r) {
        if (!has_given_up_.load(std::memory_order_relaxed)) r.run();
        back_.push(r);
    }

private:
    way_back& back_;
    std::atomic<bool> has_given_up_{false};
};

/// How a server gets its desk.
using desk_maker =
    std::function<std::unique_ptr<desk>(const ekiden::any_executor& workers, const options&, way_back&)>;
/// A lane for each key, on the workers' executor.
[[nodiscard]] std::unique_ptr<desk> make_lane_desk(const ekiden::any_executor& workers, const options& chosen,
                                                   way_back& back);

} // namespace ordered

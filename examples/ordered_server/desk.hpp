/// Runs requests in the order of each key. Requests that share no key run in parallel, and so do requests
/// that only read.
#pragma once

#include <ordered_server/request.hpp>

#include <ekiden/execution.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/timer.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <stop_token>

namespace ordered {

/// Returns finished requests to the network: a list onto which any thread pushes. A thread that finds the
/// list empty wakes the network, so that many replies cost one wake-up. If many requests are under way, the
/// network polls the list instead, and no thread wakes it.
class way_back {
public:
    using receiver = std::function<bool(request*)>;

    /// `arrive` is called on the network with the finished requests, as a linked list in order. It returns
    /// whether to collect further requests for `time`.
    way_back(const ekiden::any_executor& network, std::chrono::microseconds time, receiver arrive)
        : network_(network), time_(time), arrive_(std::move(arrive)), timer_(network) {}
    void push(request& done);

private:
    void drain();

    const ekiden::any_executor network_;
    const std::chrono::microseconds time_;
    receiver arrive_;
    ekiden::steady_timer timer_;
    request_link looked_at_; // the end of the list while the network polls
    std::atomic<request_link*> newest_{nullptr};
};

/// An interface, so that the lab can compare lanes with other ways: lab/experiments/server.
class desk {
public:
    explicit desk(way_back& back) : back_(back) {}
    virtual ~desk() = default;
    desk(const desk&) = delete;
    desk& operator=(const desk&) = delete;

    /// Accepts a request. Runs it after the earlier requests of its keys, and returns it through the way
    /// back. Returns false if there is no room for one of its keys now. Called on the network. The lab sends
    /// only ADD and WORK, and its desks accept no others.
    virtual bool take(request& r) = 0;
    virtual void add_to(ekiden::prometheus_page& /*page*/) const {}

    /// After this call, requests are returned without a run. A request that waits (WAIT) ends its wait, and
    /// is then returned. Any thread.
    void give_up() noexcept { stop_.request_stop(); }

protected:
    void run(request& r) {
        if (!stop_.stop_requested()) r.run();
        back_.push(r);
    }
    /// Returns a request whose coroutine has ended. If the coroutine has failed, the request was not run.
    void ended(request& r, const std::exception_ptr& failure) {
        if (failure != nullptr) r.failure = "the server could not wait";
        back_.push(r);
    }
    [[nodiscard]] std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }

private:
    way_back& back_;
    std::stop_source stop_;
};

/// Creates the desk of a server.
using desk_maker =
    std::function<std::unique_ptr<desk>(const ekiden::any_executor& workers, const options&, way_back&)>;
/// Returns a desk with a lane for each key, on the workers' executor.
[[nodiscard]] std::unique_ptr<desk> make_lane_desk(const ekiden::any_executor& workers, const options& chosen,
                                                   way_back& back);

} // namespace ordered

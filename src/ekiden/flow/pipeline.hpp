/// A pipeline: items pass through several stages, and several items are in flight at once.
///
/// Part: flow. Used by: programs. The protocol is described in flow.md.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/flow/detail/pipeline_run.hpp>
#include <ekiden/flow/pipeline_stage.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <cstddef>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The options of a run of a pipeline.
struct pipeline_options {
    /// The largest accepted number of items in flight.
    static constexpr std::size_t most_in_flight = std::size_t{1} << 24;

    /// The largest number of items that are in flight at once. An item is in flight from the call of the
    /// first stage that makes it until the last stage has handled it. The value 0 means four for each worker
    /// of the pool. If the executor does not belong to a pool, 0 means four for each usable processor.
    std::size_t in_flight = 0;
    /// Ends the run when a stop is requested, like pipeline::request_stop().
    std::stop_token stop = {};
};

/// A pipeline of one or more stages. A pipeline is constructed once, and may run many times.
///
/// The first stage makes the items. It is called without arguments, and returns a std::optional. An empty
/// std::optional ends the run. Each other stage is called with the result of the stage before it, as an
/// rvalue. The result of the last stage is dropped. The first stage is serial. A stage may also take a
/// std::stop_token as its last parameter, and gets the stop token of the run.
///
/// A stage may be a coroutine: it then returns coroutine<T> instead of T. The item waits while the coroutine
/// waits, and no thread is blocked. The argument of the coroutine exists until the coroutine has ended. A
/// serial stage that is a coroutine begins the next item when the coroutine has ended.
///
/// No thread waits for a serial stage that is busy, or for an item that must come first. Such an item is
/// stored, and the thread that leaves the stage continues with it. If all items are in flight, the first
/// stage waits in the same way.
///
/// Exceptions: if a stage throws, the run ends. The first stage is not called again, and the items in flight
/// are destroyed without further calls. Calls that have begun are completed. Their stop token gets a stop
/// request, so that a stage that waits can return early.
///
/// Thread safety: request_stop() and stop_requested() may be called concurrently. Only one run at a time may
/// be in progress, and a second start is refused. The stages of different items run concurrently. One stage
/// runs concurrently with itself only if it is parallel.
/// Ordering: what a stage does to an item happens before the next stage of the item. What a serial stage does
/// for an item happens before its call for the next item. Everything happens before the end of run(), and
/// before the future of start() is ready.
/// Lifetime: the destructor requests a stop and waits for the run. A stage must not destroy its own pipeline.
/// In the child of a fork(), the destructor does not wait for a run that the parent process has begun.
/// The pipeline keeps the memory of its items for the next run.
template <class... Stages>
class pipeline {
    static_assert(sizeof...(Stages) > 0, "ekiden: pipeline: a pipeline has at least one stage");
    static_assert((detail::is_stage<Stages> && ...),
                  "ekiden: pipeline: pass each callable through in_order_stage(), any_order_stage() or "
                  "parallel_stage()");
    static_assert(detail::begins_in_order<Stages...>,
                  "ekiden: pipeline: the first stage makes the items one at a time: pass it through "
                  "in_order_stage()");

public:
    /// Constructs a pipeline of the given stages, from the first to the last. See in_order_stage(),
    /// any_order_stage() and parallel_stage(). Throws whatever the move of a stage throws.
    explicit pipeline(Stages... stages) : run_(std::move(stages)...) {}
    /// Requests a stop of a run in progress and waits for its end.
    ~pipeline() = default;
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    /// Runs the pipeline in workers of `pool`, and waits for the end. Returns true if all items have passed
    /// all stages. Returns false if a stop was requested before the end.
    ///
    /// If a worker of a pool calls run(), the worker runs other tasks of that pool meanwhile, like in
    /// future::get(). So the caller must hold no lock that the other tasks may acquire. If stages have
    /// thrown, throws the exception that was thrown first. suppressed_exceptions() returns the others. Throws
    /// operation_canceled if the pool was stopped, or if there is no memory for a coroutine. Throws
    /// std::system_error(device_or_resource_busy) if a run of this pipeline is in progress. Throws
    /// std::invalid_argument if an option is out of range. Throws std::bad_alloc.
    bool run(thread_pool& pool, const pipeline_options& options = {}) {
        const any_executor where(pool.get_executor());
        return detail::flow_run::run(
            where, decltype(run_)::has_coroutines,
            [&](detail::flow_run::waiting_call* caller) { return begin(where, options, caller); });
    }
    /// Runs the pipeline like the overload with a pool, in this_pool().
    bool run(const pipeline_options& options = {}) { return run(this_pool(), options); }

    /// Starts a run in workers of `pool`, and returns its future at once. The future has the result of run(),
    /// or the first exception. The other exceptions are dropped. A coroutine can await the future. If the
    /// pool is stopped while coroutines of the run wait, the future may become ready only when the pool is
    /// destroyed. Throws like run(), except for exceptions of the stages.
    [[nodiscard]] future<bool> start(thread_pool& pool, const pipeline_options& options = {}) {
        return begin(pool.get_executor(), options, nullptr);
    }
    /// Starts a run like the overload with a pool, in this_pool().
    [[nodiscard]] future<bool> start(const pipeline_options& options = {}) {
        return start(this_pool(), options);
    }
    /// Starts a run on the executor `where`. The stages run as functions of this executor.
    template <executor E>
    [[nodiscard]] future<bool> start(const E& where, const pipeline_options& options = {}) {
        return begin(where, options, nullptr);
    }

    /// Requests a stop of the run in progress. The first stage is not called again, and the items in flight
    /// are destroyed without further calls. Calls that have begun are completed, and their stop token has the
    /// request. Returns false if no run is in progress, or if a stop of the run was requested before.
    bool request_stop() noexcept { return run_.common().request_stop(); }
    /// Returns whether a stop of the run in progress has been requested. If no run is in progress, answers
    /// for the last run.
    [[nodiscard]] bool stop_requested() const noexcept { return run_.common().stop_requested(); }

private:
    [[nodiscard]] future<bool> begin(const any_executor& where, const pipeline_options& options,
                                     detail::flow_run::waiting_call* caller) {
        return run_.start(
            where, detail::checked_in_flight(where, options.in_flight, pipeline_options::most_in_flight),
            options.stop, caller);
    }

    detail::pipeline_run<Stages...> run_;
};

} // namespace ekiden::inline EKIDEN_ABI

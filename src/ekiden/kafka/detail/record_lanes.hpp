/// Runs the function of a worker for records, in the lanes of their keys.
///
/// Part: kafka. Used by: worker. Private, but installed, because the template worker needs it.
#pragma once

#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/kafka/settings.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/records/worker_metrics.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka {

struct worker_options;

namespace detail {

class held_record;
class worker_driver;

/// A record that is in its lane. Whatever happens to the task of the lane, the record returns to the driver.
class lent_record {
public:
    lent_record(std::shared_ptr<worker_driver> owner, held_record& lent) noexcept
        : owner_(std::move(owner)), lent_(&lent) {}
    lent_record(lent_record&& other) noexcept
        : owner_(std::move(other.owner_)), lent_(std::exchange(other.lent_, nullptr)) {}
    lent_record& operator=(lent_record&&) = delete;
    ~lent_record() {
        if (lent_ != nullptr) abandon();
    }

    /// Returns whether the function may begin. Otherwise, the record has been returned.
    [[nodiscard]] bool begin();
    [[nodiscard]] request argument() const;
    /// Returns the record after the end of its function.
    void succeed(reply&& outputs) noexcept;
    void fail(const std::exception_ptr& reason) noexcept;

private:
    void abandon() noexcept; // the inner context has dropped the task

    std::shared_ptr<worker_driver> owner_;
    held_record* lent_;
};

/// Returns the number of the lane of a record. Different keys seldom share a lane. A record without a key has
/// a lane of its own.
[[nodiscard]] std::uint64_t lane_of(const held_record& r) noexcept;

/// The lanes of a worker, for the driver.
class record_starter {
public:
    record_starter() = default;
    record_starter(const record_starter&) = delete;
    record_starter& operator=(const record_starter&) = delete;
    virtual ~record_starter() = default;
    /// Puts records into their lanes, in this order.
    virtual void start(const std::shared_ptr<worker_driver>& owner,
                       std::span<held_record* const> ready) noexcept = 0;

protected:
    /// Calls a function that returns a coroutine.
    [[nodiscard]] virtual coroutine<> call(const request& argument, reply& outputs) = 0;
    /// Awaits the function for a record. Neither this coroutine nor its callers have the type of the
    /// function, because g++ warns of coroutines with a parameter of a local type.
    [[nodiscard]] coroutine<> await_function(lent_record lent);

    struct turn { // starts the coroutine of a record in its lane
        coroutine<> operator()() { return lanes->await_function(std::move(lent)); }
        record_starter* lanes;
        lent_record lent;
    };
};

/// The lanes of a worker with the function `F`. They live as long as the worker, so a record that comes again
/// waits for the end of its first call.
template <class Executor, class F>
class record_lanes final : public record_starter {
    static_assert(std::invocable<F&, const request&, reply&>,
                  "ekiden: kafka::worker: the function is called as f(const request&, reply&)");
    using result = std::invoke_result_t<F&, const request&, reply&>;
    static constexpr bool is_coroutine = std::same_as<result, coroutine<>>;
    static_assert(is_coroutine || std::is_void_v<result>,
                  "ekiden: kafka::worker: the function returns void or coroutine<>");

public:
    template <class G>
    record_lanes(const Executor& inner, G&& f)
        : lanes_(inner, lanes_options{.delay_sampling = 0}), f_(std::forward<G>(f)) {}

    void start(const std::shared_ptr<worker_driver>& owner,
               std::span<held_record* const> ready) noexcept override {
        for (held_record* const r : ready) {
            lent_record lent(owner, *r);
            try { // if the lanes refuse the record or throw, they destroy `lent`
                if constexpr (is_coroutine)
                    ekiden::spawn_in_turn(lanes_, lane_of(*r), turn{this, std::move(lent)});
                else
                    static_cast<void>(lanes_.post(
                        lane_of(*r), [this, lent = std::move(lent)]() mutable { call_function(f_, lent); }));
            } catch (...) {
                continue;
            }
        }
    }

private:
    static void call_function(F& f, lent_record& lent) {
        if (!lent.begin()) return;
        reply outputs;
        try {
            f(lent.argument(), outputs);
        } catch (...) {
            lent.fail(std::current_exception());
            return;
        }
        lent.succeed(std::move(outputs));
    }
    coroutine<> call([[maybe_unused]] const request& argument, [[maybe_unused]] reply& outputs) override {
        if constexpr (is_coroutine)
            return f_(argument, outputs);
        else
            std::terminate(); // start() has posted a function
    }

    lanes<std::uint64_t, Executor> lanes_;
    F f_;
};

[[nodiscard]] std::shared_ptr<worker_driver> make_driver(const settings& where, const worker_options& chosen,
                                                         std::unique_ptr<record_starter> lanes);
void run(worker_driver& driver, std::stop_token stop);
[[nodiscard]] bool close(worker_driver& driver, const wait_limit& limit);
[[nodiscard]] records::worker_metrics metrics(const worker_driver& driver);
/// Closes the worker, and waits until no lane uses the driver.
void destroy(std::shared_ptr<worker_driver> driver) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI::kafka

// One operation of Asio's that a coroutine waits for: its handler is called or dropped before, while and
// after the coroutine suspends, and a stop is passed on to the operation only while there is one.
#include <check/models/coroutine_model.hpp>

#include <ekiden/adapter/asio/asio_operation.hpp>
#include <ekiden/execution/strand.hpp>

#include <coroutine>
#include <optional>
#include <utility>

namespace asio_operation_models {

namespace {

using namespace coroutine_model;

/// What the operations of one model have come to.
struct outcome {
    sys::cell<int> in_frame{0}; // written by the coroutine before it suspends
    sys::atomic<int> nodes{0};  // operations that have not ended
    int canceled = 0;           // passed on to Asio, on the strand
    bool has_ended = false;     // the operation, as Asio sees it: on the strand
    int resumed = 0;
    int frames_ended = 0;
    int got = 0;
};

class model_operation final : public detail::asio_operation {
public:
    explicit model_operation(outcome& o) noexcept : asio_operation(&cancel, &end), all(o) {
        all.nodes.fetch_add(1, sys::relaxed);
    }
    outcome& all;
    sys::cell<int> result{0};

private:
    static void cancel(asio_operation& self) noexcept {
        outcome& o = static_cast<model_operation&>(self).all;
        check::that(!o.has_ended, "nothing is canceled after its end");
        ++o.canceled;
    }
    static void end(asio_operation& self) noexcept {
        auto* const own = static_cast<model_operation*>(&self);
        own->all.nodes.fetch_sub(1, sys::relaxed);
        delete own;
    }
};

using handle = detail::operation_handle;

/// As asio_awaitable is. `initiate` takes the handler's share.
template <class Initiate>
class [[nodiscard]] model_awaitable {
public:
    static constexpr bool comes_home = true;
    model_awaitable(outcome& all, Initiate& initiate) noexcept : all_(all), initiate_(initiate) {}
    model_awaitable(const model_awaitable&) = delete;
    model_awaitable& operator=(const model_awaitable&) = delete;
    ~model_awaitable() {
        if (operation_ == nullptr) return;
        check::that(all_.in_frame.read() >= 0, "what the coroutine did comes before the end of its frame");
        operation_->leave();
    }
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> waiting) {
        operation_ = new model_operation(all_);
        model_operation& own = *operation_;
        if (own.bind(waiting)) {
            own.end_stopped();
            return true;
        }
        initiate_(own);
        all_.in_frame.write(1);
        return own.begin_waiting();
    }
    /// The result, or 0: it did not begin.
    int await_resume() {
        operation_->disarm();
        return operation_->result.read();
    }

private:
    outcome& all_;
    Initiate& initiate_;
    model_operation* operation_ = nullptr;
};

/// Ends with the frame.
struct frame_end {
    explicit frame_end(outcome& of) noexcept : all(of) {}
    frame_end(const frame_end&) = delete;
    frame_end& operator=(const frame_end&) = delete;
    ~frame_end() { ++all.frames_ended; }
    outcome& all;
};

void call(handle own) {
    auto& operation = static_cast<model_operation&>(*own);
    operation.all.has_ended = true;
    operation.result.write(7);
    own.finish(true);
}

} // namespace

EKIDEN_MODEL(asio_result_against_suspension, .about = "the handler is called while the coroutine suspends",
             .preemptions = 3, .spurious = 0, .timeouts = 0) {
    model_context context;
    outcome all;
    std::optional<sys::thread> other;
    auto initiate = [&](model_operation& own) {
        other.emplace([given = handle(own)]() mutable { call(std::move(given)); });
    };
    auto whole = [&]() -> coroutine<> {
        const frame_end here(all);
        all.got = co_await model_awaitable(all, initiate);
        ++all.resumed;
    };
    begin(context, whole);
    context.run();
    other->join();
    context.run();
    check::that(all.got == 7 && all.resumed == 1 && all.frames_ended == 1,
                "it goes on with the result, once");
    check::that(all.nodes.load(sys::relaxed) == 0, "the operation has ended");
}

EKIDEN_MODEL(asio_drop_against_suspension, .about = "the handler is dropped while the coroutine suspends",
             .preemptions = 3, .spurious = 0, .timeouts = 0) {
    model_context context;
    outcome all;
    std::optional<sys::thread> other;
    auto initiate = [&](model_operation& own) {
        other.emplace([given = handle(own)]() mutable { const handle dropped(std::move(given)); });
    };
    auto whole = [&]() -> coroutine<> {
        const frame_end here(all);
        all.got = co_await model_awaitable(all, initiate);
        ++all.resumed;
    };
    begin(context, whole);
    context.run();
    other->join();
    context.run();
    check::that(all.resumed == 0 && all.frames_ended == 1, "it is destroyed, once");
    check::that(all.nodes.load(sys::relaxed) == 0, "the operation has ended");
}

// As in stop_two_wait: what a sleeper of a stop_state reads before the lock is a hint.
EKIDEN_MODEL(asio_result_against_stop, .load_buffering = false,
             .old_values = 1, // else a strand may look for the rest of a push for ever
             .about = "the handler comes home by the strand on which a stop is passed on", .preemptions = 1,
             .spurious = 0, .timeouts = 0) {
    model_context context;
    outcome all;
    stop_state stop;
    std::optional<sys::thread> other;
    auto initiate = [&](model_operation& own) {
        other.emplace([home = own.home(), given = handle(own)]() mutable {
            home.post([given = std::move(given)]() mutable { call(std::move(given)); });
        });
    };
    auto whole = [&]() -> coroutine<> {
        const frame_end here(all);
        all.got = co_await model_awaitable(all, initiate);
        ++all.resumed;
    };
    begin(context, whole, &stop);
    sys::thread stopper([&stop] { (void)stop.request_stop(); });
    context.run();
    if (other) other->join();
    stopper.join();
    context.run();
    check::that(all.resumed == 1 && all.frames_ended == 1, "it goes on, once");
    check::that(all.got == (other ? 7 : 0), "with the result of what has begun");
    check::that(all.canceled <= 1, "a stop is passed on once");
    check::that(all.nodes.load(sys::relaxed) == 0, "the operation has ended");
}

} // namespace asio_operation_models

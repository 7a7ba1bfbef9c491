/// The engine of a pipeline: items that pass the stages, and the source that begins them.
///
/// Part: flow. Used by: pipeline. flow.md describes the protocol.
///
/// The scheme is that of the pipelines of TBB: a thread takes an item through as many stages as possible.
/// Lee, Leiserson, Schardl, Sukha, Zhang ("On-the-Fly Pipeline Parallelism", SPAA 2013) call it
/// bind-to-element. The source is handed to another task as soon as it has made an item. Unlike in TBB, the
/// serial stages have no lock, and a stage may be a coroutine.
#pragma once

#include <ekiden/flow/detail/flow_run.hpp>
#include <ekiden/flow/detail/stage_gates.hpp>
#include <ekiden/flow/pipeline_stage.hpp>
#include <ekiden/queue/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

template <stage_order Order>
using gate_of =
    std::conditional_t<Order == stage_order::in_order, ordered_gate,
                       std::conditional_t<Order == stage_order::any_order, arrival_gate, open_gate>>;

template <class T>
inline constexpr bool is_stage = false;
template <stage_order Order, class F>
inline constexpr bool is_stage<pipeline_stage<Order, F>> = true;

/// Whether the first of the stages is an in_order_stage(). A type that is no stage is refused elsewhere.
template <class First, class... Rest>
inline constexpr bool begins_in_order = true;
template <stage_order Order, class F, class... Rest>
inline constexpr bool begins_in_order<pipeline_stage<Order, F>, Rest...> = Order == stage_order::in_order;

// ---- the types of the values

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// The result of a stage with the argument `In`, without the coroutine around it. `In` is void for the
/// source.
template <class F, class In>
struct stage_result {
    static_assert(takes<F, In>,
                  "ekiden: pipeline: a stage must be callable with the result of the stage before it, as an "
                  "rvalue, or with this result and a std::stop_token");
    using returned =
        decltype(detail::run_call(std::declval<const flow_run&>(), std::declval<F&>(), std::declval<In>()));
    using type = typename awaited_value<std::remove_cvref_t<returned>>::type;
    static constexpr bool is_coroutine = is_awaited<std::remove_cvref_t<returned>>;
};
template <class F>
struct stage_result<F, void> {
    static_assert(takes<F>, "ekiden: pipeline: the first stage must be callable without arguments, or with a "
                            "std::stop_token");
    using returned = decltype(detail::run_call(std::declval<const flow_run&>(), std::declval<F&>()));
    using type = typename awaited_value<std::remove_cvref_t<returned>>::type;
    static constexpr bool is_coroutine = is_awaited<std::remove_cvref_t<returned>>;
};

/// The types of the values between the stages: the element I is the argument of stage I + 1.
template <class In, class... Stages>
struct stage_values {
    using type = std::tuple<>;
};
template <class In, class First, class... Rest>
    requires(sizeof...(Rest) > 0)
struct stage_values<In, First, Rest...> {
    using out = typename stage_result<decltype(First::f), In>::type;
    static_assert(!std::is_void_v<out>, "ekiden: pipeline: only the last stage may return void");
    static_assert(std::is_object_v<out>, "ekiden: pipeline: a stage returns an object");
    using type = decltype(std::tuple_cat(std::declval<std::tuple<std::type_identity<out>>>(),
                                         std::declval<typename stage_values<out, Rest...>::type>()));
};

template <class First>
struct source_value {
    using returned = typename stage_result<decltype(First::f), void>::type;
    static_assert(is_optional<returned>,
                  "ekiden: pipeline: the first stage returns a std::optional, which is empty at the end");
    using type = typename returned::value_type;
};

/// The largest size or alignment of the values whose place has the given parity.
template <class Values, std::size_t Parity, bool OfAlignment>
constexpr std::size_t largest() {
    std::size_t result = 1;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto add = [&]<class T>(std::type_identity<T>, std::size_t place) {
            if (place % 2 == Parity) result = std::max(result, OfAlignment ? alignof(T) : sizeof(T));
        };
        (add(std::tuple_element_t<I, Values>(), I), ...);
    }(std::make_index_sequence<std::tuple_size_v<Values>>());
    return result;
}

// ---- the engine

/// The state and the code of a pipeline.
template <class First, class... Rest>
class pipeline_run {
    using source_type = typename source_value<First>::type;
    // The value I is the result of stage I, and the argument of stage I + 1.
    using values =
        decltype(std::tuple_cat(std::declval<std::tuple<std::type_identity<source_type>>>(),
                                std::declval<typename stage_values<source_type, Rest...>::type>()));
    template <std::size_t I>
    using value = typename std::tuple_element_t<I, values>::type;
    template <std::size_t I>
    using stage = std::tuple_element_t<I, std::tuple<First, Rest...>>;
    template <std::size_t I>
    using gate = gate_of<stage<I>::order>;
    static constexpr std::size_t last_stage = sizeof...(Rest);

    /// What the current thread must do before it returns to its executor.
    struct agenda {
        flow_item* waiting = nullptr; // items whose stage is theirs, in a run that is over
        bool owns_source = false;
    };

    /// An item, and the task that continues it.
    struct item final : task, flow_item {
        item() noexcept : task(&answer) {}

        static const char* answer(task* base, task_request request) {
            if (request == task_request::describe) return type_description<pipeline_run>();
            auto* const self = static_cast<item*>(base);
            if (request == task_request::abandon) self->run->common_.dropped();
            self->run->drive(*self);
            return nullptr;
        }

        template <std::size_t I>
        [[nodiscard]] value<I>& get() noexcept {
            return *std::launder(reinterpret_cast<value<I>*>(place<I>()));
        }
        template <std::size_t I>
        [[nodiscard]] void* place() noexcept {
            if constexpr (I % 2 == 0)
                return even;
            else
                return odd;
        }

        /// Stores the value that the source has returned, if there is one.
        template <class Made>
        void store_first(Made&& made) {
            if (!made) return;
            ::new (place<0>()) value<0>(*std::forward<Made>(made));
            has_value = true;
        }
        /// Destroys the value I, if the item has a value. The item has no value afterwards.
        template <std::size_t I>
        void drop() noexcept {
            if (std::exchange(has_value, false)) std::destroy_at(std::addressof(get<I>()));
        }

        pipeline_run* run = nullptr;
        void (pipeline_run::*work)(item&,
                                   agenda&) noexcept = nullptr; // the stage in which the item continues
        bool has_value = false; // false: the item passes the stages without calls, because the run is over
        // A stage reads its argument from one place, and writes its result to the other place.
        alignas(largest<values, 0, true>()) std::byte even[largest<values, 0, false>()];
        alignas(largest<values, 1, true>()) std::byte odd[largest<values, 1, false>()];
    };

    /// The task that continues the source.
    struct source_task final : task {
        explicit source_task(pipeline_run& owner) noexcept : task(&answer), run(owner) {}

        static const char* answer(task* base, task_request request) {
            if (request == task_request::describe) return type_description<pipeline_run>();
            auto* const self = static_cast<source_task*>(base);
            if (request == task_request::abandon) self->run.common_.dropped();
            self->run.drive_source();
            return nullptr;
        }

        pipeline_run& run;
    };

    template <std::size_t... I>
    static constexpr bool has_coroutine_stage(std::index_sequence<I...>) {
        return (stage_result<decltype(stage<I + 1>::f), value<I>>::is_coroutine || ...);
    }

public:
    /// True if a stage is a coroutine.
    static constexpr bool has_coroutines = stage_result<decltype(First::f), void>::is_coroutine
                                           || has_coroutine_stage(std::index_sequence_for<Rest...>());

    pipeline_run(First&& first, Rest&&... rest) : stages_(std::move(first), std::move(rest)...) {}
    pipeline_run(const pipeline_run&) = delete;
    pipeline_run& operator=(const pipeline_run&) = delete;
    ~pipeline_run() { common_.stop_and_wait(has_coroutines); }

    [[nodiscard]] flow_run& common() noexcept { return common_; }
    [[nodiscard]] const flow_run& common() const noexcept { return common_; }

    /// Starts a run. Throws std::bad_alloc, and whatever flow_run::begin() throws.
    [[nodiscard]] future<bool> start(any_executor where, std::size_t in_flight, const std::stop_token& stop,
                                     flow_run::waiting_call* caller) {
        auto result = common_.begin(std::move(where), stop, caller);
        try {
            prepare(in_flight);
        } catch (...) { // there is no memory
            common_.end();
            throw;
        }
        has_ended_ = false;
        if (caller != nullptr && caller->runs_here)
            drive_source();
        else
            common_.post_last(source_);
        return result;
    }

private:
    void prepare(std::size_t in_flight) {
        if (in_flight == in_flight_) return;
        in_flight_ = 0; // if there is no memory, the next run tries again
        auto fresh = std::make_unique<item[]>(in_flight);
        std::apply([&](auto&... each) { (each.prepare(in_flight, next_number_), ...); }, gates_);
        for (std::size_t i = 0; i != in_flight; ++i) fresh[i].run = this;
        items_ = std::move(fresh);
        in_flight_ = in_flight;
        refill();
    }
    /// Makes all items free.
    void refill() noexcept {
        free_.clear();
        for (std::size_t i = 0; i != in_flight_; ++i) free_.add(items_[i]);
        collected_ = 0;
    }

    // ---- The loop of a thread

    /// Continues an item in the stage `work`. The run may end in this call.
    void drive(item& first) noexcept {
        agenda todo;
        (this->*first.work)(first, todo);
        settle(todo);
    }
    /// Continues the source, which the caller owns. The run may end in this call.
    void drive_source() noexcept {
        agenda todo;
        todo.owns_source = true;
        settle(todo);
    }
    /// Does what is on the agenda. The run may end in this call.
    void settle(agenda& todo) noexcept {
        for (;;) {
            if (todo.waiting != nullptr) {
                auto& next = static_cast<item&>(*todo.waiting);
                todo.waiting = next.next_item.read();
                (this->*next.work)(next, todo);
            } else if (!todo.owns_source) {
                return;
            } else {
                todo.owns_source = false;
                if (has_ended_) return collect(); // the last owner has no other item
                produce(todo);
            }
        }
    }

    // ---- The source

    /// Makes an item and takes it through the stages. The caller owns the source.
    void produce(agenda& todo) noexcept {
        if (!free_.reserve()) return; // the next item that comes back continues the source
        auto& fresh = static_cast<item&>(free_.take());
        if (common_.is_over()) return source_returned(fresh, todo);
        auto& f = std::get<0>(stages_).f;
        using result = stage_result<decltype(First::f), void>;
        if constexpr (result::is_coroutine) {
            detail::begin_coroutine(common_, source_done{this, &fresh}, f);
        } else {
            try {
                fresh.store_first(detail::run_call(common_, f));
            } catch (...) {
                common_.fail(std::current_exception());
            }
            source_returned(fresh, todo);
        }
    }
    /// Called when the source has returned. The caller owns the source.
    void source_returned(item& fresh, agenda& todo) noexcept {
        if (!fresh.has_value) {
            has_ended_ = true;
            free_.add(fresh);
            todo.owns_source = true; // to collect the items
            return;
        }
        fresh.number = next_number_++;
        // Another task may run the source while this thread takes the item through the stages. If no item is
        // free, the source waits.
        if (free_.reserve()) {
            if (common_.is_over())
                todo.owns_source = true;
            else
                common_.post(source_);
        }
        enter<1>(fresh, todo);
    }
    /// Waits, without blocking, until all items have come back. Then ends the run. The caller owns the
    /// source.
    void collect() noexcept {
        while (free_.reserve()) {
            (void)free_.take();
            if (++collected_ == in_flight_) {
                refill();
                return common_.end();
            }
        }
    }
    /// The outcome of a coroutine that is the source.
    struct source_done {
        pipeline_run* run;
        item* fresh;

        void store(typename stage_result<decltype(First::f), void>::type&& made) const {
            fresh->store_first(std::move(made));
        }
        void succeed() const noexcept {
            agenda todo;
            run->source_returned(*fresh, todo);
            run->settle(todo);
        }
        void fail(std::exception_ptr error) const noexcept {
            run->common_.fail(std::move(error));
            succeed();
        }
        void drop() const noexcept {
            run->common_.dropped();
            succeed();
        }
    };

    // ---- The other stages

    /// Lets an item enter stage I if its gate is open. Otherwise the gate stores the item.
    template <std::size_t I>
    void enter(item& it, agenda& todo) noexcept {
        if constexpr (I > last_stage) {
            if constexpr (last_stage == 0) it.template drop<0>();
            it.has_value = false;
            if (free_.put(it)) todo.owns_source = true;
        } else {
            if constexpr (gate<I>::is_serial) {
                it.work = &pipeline_run::work<I>; // for the thread that continues with the item
                if (!std::get<I>(gates_).arrive(it)) return;
            }
            work<I>(it, todo);
        }
    }
    /// Calls stage I. The item has entered the stage.
    template <std::size_t I>
    void work(item& it, agenda& todo) noexcept {
        using result = stage_result<decltype(stage<I>::f), value<I - 1>>;
        if (it.has_value && !common_.is_over()) {
            auto& f = std::get<I>(stages_).f;
            auto& argument = it.template get<I - 1>();
            if constexpr (result::is_coroutine) {
                // The call may return when the run has ended.
                return detail::begin_coroutine(common_, stage_done<I>{this, &it}, f, argument);
            } else {
                try {
                    if constexpr (I == last_stage)
                        static_cast<void>(detail::run_call(common_, f, std::move(argument)));
                    else
                        ::new (it.template place<I>())
                            value<I>(detail::run_call(common_, f, std::move(argument)));
                    std::destroy_at(std::addressof(argument));
                } catch (...) {
                    it.template drop<I - 1>();
                    common_.fail(std::current_exception());
                }
            }
        } else {
            it.template drop<I - 1>();
        }
        leave<I>(it, todo);
    }
    /// Called when stage I has handled an item.
    template <std::size_t I>
    void leave(item& it, agenda& todo) noexcept {
        if constexpr (gate<I>::is_serial) {
            if (flow_item* const next = std::get<I>(gates_).leave(it)) {
                if (common_.is_over()) { // no function is called any more, so a post would only cost time
                    next->next_item.write(todo.waiting);
                    todo.waiting = next;
                } else {
                    common_.post(static_cast<item&>(*next));
                }
            }
        }
        enter<I + 1>(it, todo);
    }
    /// The outcome of a coroutine that is stage I.
    template <std::size_t I>
    struct stage_done {
        pipeline_run* run;
        item* it;

        template <class... Value>
        void store(Value&&... result) const {
            if constexpr (I != last_stage)
                ::new (it->template place<I>()) value<I>(std::forward<Value>(result)...);
        }
        void succeed() const noexcept {
            std::destroy_at(std::addressof(it->template get<I - 1>()));
            go_on();
        }
        void fail(std::exception_ptr error) const noexcept {
            it->template drop<I - 1>();
            run->common_.fail(std::move(error));
            go_on();
        }
        void drop() const noexcept {
            it->template drop<I - 1>();
            run->common_.dropped();
            go_on();
        }
        void go_on() const noexcept {
            agenda todo;
            run->template leave<I>(*it, todo);
            run->settle(todo);
        }
    };

    std::tuple<First, Rest...> stages_;
    std::tuple<gate_of<First::order>, gate_of<Rest::order>...> gates_; // the first gate is not used
    std::unique_ptr<item[]> items_;
    std::size_t in_flight_ = 0;
    free_items free_;
    flow_run common_{"pipeline"};
    source_task source_{*this};
    // The owner of the source uses the members below.
    std::uint64_t next_number_ = 0; // the number of the next item, also across runs
    std::size_t collected_ = 0;     // items that have come back after the end of the source
    bool has_ended_ = false;        // the source has no more items
};

} // namespace ekiden::inline EKIDEN_ABI::detail

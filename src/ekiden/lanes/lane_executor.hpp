/// The executor of a lane.
///
/// Part: lanes. Used by: programs, through lanes::get_executor().
#pragma once

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/queue/task.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An executor of one lane, with the operations of task_sink. Two executors are equal if they have the same
/// key and belong to the same lanes. If the key has the size of one word, an executor has the size of two
/// words.
///
/// Thread safety: several threads may use one executor at the same time. Assignment and destruction need
/// exclusive access to the executor.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::executor_type : public task_sink<executor_type> {
public:
    executor_type(const executor_type& other) noexcept
        : task_sink<executor_type>(other), state_(other.state_), key_(other.key_) {
        if (state_ != nullptr) state_->add_handle();
    }
    /// Moves the handle. Afterwards, `other` may only be destroyed or assigned to.
    executor_type(executor_type&& other) noexcept
        : task_sink<executor_type>(other), state_(std::exchange(other.state_, nullptr)), key_(other.key_) {}
    executor_type& operator=(executor_type other) noexcept {
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~executor_type() {
        if (state_ != nullptr) state_->drop_handle();
    }

    /// Returns the key of the lane.
    [[nodiscard]] const Key& key() const noexcept { return unboxed(key_); }
    [[nodiscard]] Executor get_inner_executor() const noexcept { return state_->inner; }
    [[nodiscard]] decltype(auto) context() const { return state_->inner.context(); }
    void on_work_started() const noexcept { state_->inner.on_work_started(); }
    void on_work_finished() const noexcept { state_->inner.on_work_finished(); }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return state_->is_inside(key(), false); }

    friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
        return a.state_ == b.state_ && a.key() == b.key();
    }

    /// Returns true, because the functions of a lane run one after the other.
    [[nodiscard]] static constexpr bool runs_one_at_a_time() noexcept { return true; }
    void report_unhandled(const char* type) const noexcept { ekiden::report_unhandled(state_->inner, type); }
    /// Returns an address that identifies the lanes.
    [[nodiscard]] const void* lanes_id() const noexcept { return state_; }

private:
    friend class lanes;
    friend struct detail::sink_access;
    bool accept(task* given, task_order order) const {
        const executor_type kept(*this); // once queued, the task may destroy this executor and the lanes
        return kept.state_->accept(kept.key(), given, order);
    }
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        const executor_type kept(*this);
        kept.state_->dispatch(kept.key(), owned_task(given));
        return nullptr;
    }

    // The copy constructor of an executor must not throw. A key whose copy constructor may throw is stored
    // outside of the executor.
    static constexpr bool key_lies_inside = std::is_nothrow_copy_constructible_v<Key>;
    using stored = std::conditional_t<key_lies_inside, Key, std::shared_ptr<const Key>>;

    executor_type(state& of, const Key& key) : state_(&of), key_(boxed(key)) { of.add_handle(); }

    static stored boxed(const Key& key) {
        if constexpr (key_lies_inside)
            return key;
        else
            return std::make_shared<const Key>(key);
    }
    static const Key& unboxed(const stored& kept) noexcept {
        if constexpr (key_lies_inside)
            return kept;
        else
            return *kept;
    }

    state* state_;
    stored key_;
};

/// An executor that posts by a handle of a lane, with the operations of task_sink. The lanes have no
/// capacity. Two executors are equal if their handles are equal.
///
/// An operation of its scheduler is itself the queued task, and has its place in the lane between the
/// functions. close() abandons the functions of the lane, but leaves the operations. If the inner context has
/// been stopped, the inner context keeps the operations, like operations of its own scheduler.
///
/// Thread safety: several threads may use one executor at the same time. Assignment and destruction need
/// exclusive access to the executor.
template <class Key, class Executor, class Hash>
class lanes<Key, Executor, Hash>::lane_type::executor_type : public task_sink<executor_type> {
public:
    /// Returns the handle of the lane.
    [[nodiscard]] const lane_type& lane() const noexcept { return handle_; }
    [[nodiscard]] Executor get_inner_executor() const noexcept { return handle_.own_state().inner; }
    [[nodiscard]] decltype(auto) context() const { return handle_.own_state().inner.context(); }
    void on_work_started() const noexcept { handle_.own_state().inner.on_work_started(); }
    void on_work_finished() const noexcept { handle_.own_state().inner.on_work_finished(); }
    [[nodiscard]] bool running_in_this_thread() const noexcept {
        return handle_.own_state().is_inside(handle_.at_, false);
    }

    friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
        return a.handle_ == b.handle_;
    }

    /// Returns true, because the functions of a lane run one after the other.
    [[nodiscard]] static constexpr bool runs_one_at_a_time() noexcept { return true; }
    void report_unhandled(const char* type) const noexcept {
        ekiden::report_unhandled(handle_.own_state().inner, type);
    }

private:
    friend class lane_type;
    friend struct detail::sink_access;

    explicit executor_type(const lane_type& handle) noexcept : handle_(handle) {}

    /// The base class of the operations of a scheduler.
    struct operation_task : lane_task {
        operation_task(task::function answer, const executor_type& of) noexcept
            : lane_task(answer, *of.handle_.at_.where, true) {}
        /// Returns whether keep() has accepted the operation. The member `when` is not needed then, and
        /// lanes_state sets it to 0 or an odd number.
        [[nodiscard]] bool is_kept() const noexcept { return this->when == kept_mark; }
        void set_kept() noexcept { this->when = kept_mark; }
        static constexpr std::uint32_t kept_mark = 2;
    };
    bool accept_operation(operation_task* given) const {
        const lane_type kept(handle_); // once queued, the operation may destroy this executor and the lanes
        state& all = kept.own_state();
        if (all.takes_no_more() || all.is_in_child()) [[unlikely]]
            return given->abandon(), false;
        return all.enqueue(*kept.at_.shard, given, task_order::usual);
    }
    bool accept(task* given, task_order order) const {
        const lane_type kept(handle_);
        return kept.own_state().give(kept.at_, owned_task(given), "post", order);
    }
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        const lane_type kept(handle_);
        kept.own_state().dispatch(kept.at_, owned_task(given));
        return nullptr;
    }
    /// Keeps an operation in the inner context, like the executor of a strand.
    void keep(task* given) const noexcept
        requires detail::keeping_executor<Executor>
    {
        detail::sink_access::keep(Executor(handle_.own_state().inner), given);
    }
    template <class F>
    void run_kept(const F& f) const {
        const lane_type kept(handle_);
        const serial_scope inside(state::scope_of(*kept.at_.where, false));
        detail::sink_access::run_kept(Executor(kept.own_state().inner), f);
    }

    lane_type handle_;
};

template <class Key, class Executor, class Hash>
auto lanes<Key, Executor, Hash>::lane_type::get_executor() const -> executor_type {
    if (own_state().has_capacity()) state::refuse_capacity();
    return executor_type(*this);
}

template <class Key, class Executor, class Hash>
auto lanes<Key, Executor, Hash>::get_executor(const Key& key) const -> executor_type {
    return executor_type(*state_, key);
}
template <class Key, class Executor, class Hash>
auto lanes<Key, Executor, Hash>::get_executor(const lane_type& handle) const -> executor_type {
    (void)known(handle, "get_executor");
    return get_executor(handle.key());
}

} // namespace ekiden::inline EKIDEN_ABI

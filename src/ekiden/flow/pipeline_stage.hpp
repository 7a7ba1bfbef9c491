/// The stages of a pipeline.
///
/// Part: flow. Used by: programs, pipeline.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// How a stage of a pipeline handles the items.
enum class stage_order : std::uint8_t {
    in_order,  ///< one at a time, in the order of the source
    any_order, ///< one at a time, in the order in which the items arrive
    parallel   ///< several at once
};

/// A stage of a pipeline: a callable and its order. in_order_stage(), any_order_stage() and parallel_stage()
/// make stages.
template <stage_order Order, class F>
struct pipeline_stage {
    static constexpr stage_order order = Order; ///< how the stage handles the items
    F f;                                        ///< the callable
};

/// Returns a stage that handles one item at a time, in the order in which the first stage has made the items.
/// `f` is copied or moved into the stage.
template <class F>
[[nodiscard]] auto in_order_stage(F&& f) {
    return pipeline_stage<stage_order::in_order, std::decay_t<F>>{std::forward<F>(f)};
}
/// Returns a stage that handles one item at a time, in the order in which the items arrive.
template <class F>
[[nodiscard]] auto any_order_stage(F&& f) {
    return pipeline_stage<stage_order::any_order, std::decay_t<F>>{std::forward<F>(f)};
}
/// Returns a stage that may handle several items at once.
template <class F>
[[nodiscard]] auto parallel_stage(F&& f) {
    return pipeline_stage<stage_order::parallel, std::decay_t<F>>{std::forward<F>(f)};
}

} // namespace ekiden::inline EKIDEN_ABI

#include <lab/harness/registry.hpp>

namespace lab::eigen_tensor {
namespace {

const bool added = add(experiment{
    .name = "eigen-tensor",
    .title = "A real client: Eigen's Tensor module",
    .about =
        "Expressions of Eigen's Tensor module (float) on its own thread pool and on ours, through the "
        "interface that "
        "it has for pools of others: the same blocks, the same wait of the caller on a condition variable. "
        "Element-wise: a * b + a.sqrt(), square tensors; the smallest takes about 20 us in one thread. "
        "Contraction: the "
        "product of two matrices. One expression follows the other at once, or after 50 us in which the "
        "caller "
        "works alone. The time is that of the median expression; the CPU time is less the caller's own work.",
    .figures = {{.name = "us", .title = "time of an expression", .unit = "us"},
                {.name = "p90_us", .title = "P90", .unit = "us"},
                {.name = "mean_us", .title = "mean", .unit = "us"},
                {.name = "cpu_us", .title = "CPU time", .unit = "us"}},
    .variants = {{.name = "element-wise 256", .title = "element-wise, 256 x 256"},
                 {.name = "element-wise 256, 50 us", .title = "element-wise, 256 x 256, 50 us between"},
                 {.name = "element-wise 1024",
                  .title = "element-wise, 1024 x 1024",
                  .headline = "tensors of 1024"},
                 {.name = "contraction 128", .title = "contraction, 128 x 128"},
                 {.name = "contraction 512", .title = "contraction, 512 x 512"}},
    .order = 10});

} // namespace
} // namespace lab::eigen_tensor

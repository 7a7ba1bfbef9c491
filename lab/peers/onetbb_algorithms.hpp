/// Peer: oneTBB's parallel_scan, combinable, and groups in an arena of two threads. oneTBB has no search, so
/// its users write a parallel loop that leaves out the parts behind the first known match. oneTBB has no
/// stable sort.
#pragma once

#include <lab/peers/row.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/combinable.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_scan.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <vector>

namespace lab::peers {

class onetbb_algorithms {
public:
    static constexpr peers::row row{"onetbb", "oneTBB", 30};

    explicit onetbb_algorithms(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)),
          two_(2) {}

    template <class T, class Operation>
    void scan(const std::vector<T>& input, std::vector<T>& output, Operation operation) {
        arena_.execute([&] {
            scan_body<T, Operation> body(input.data(), output.data(), operation);
            tbb::parallel_scan(tbb::blocked_range<std::size_t>(0, input.size()), body);
        });
    }

    std::size_t find(const std::vector<std::uint32_t>& values, std::uint32_t wanted) {
        return arena_.execute([&] {
            using range = tbb::blocked_range<std::size_t>;
            std::atomic<std::size_t> first(values.size());
            tbb::parallel_for(range(0, values.size()), [&](const range& part) {
                if (part.begin() >= first.load(std::memory_order_relaxed)) return;
                const auto begin = values.begin();
                const auto end = begin + static_cast<std::ptrdiff_t>(part.end());
                const auto at = std::find(begin + static_cast<std::ptrdiff_t>(part.begin()), end, wanted);
                if (at == end) return;
                const auto found = static_cast<std::size_t>(at - begin);
                std::size_t now = first.load();
                while (found < now && !first.compare_exchange_weak(now, found)) {
                }
            });
            return first.load();
        });
    }

    std::uint64_t local_sum(std::size_t n) {
        return arena_.execute([n] {
            tbb::combinable<std::uint64_t> sums([] { return std::uint64_t{0}; });
            tbb::parallel_for(std::size_t{0}, n, [&sums](std::size_t i) { sums.local() += i; });
            return sums.combine(std::plus<>());
        });
    }

    template <class Body>
    void limited(std::size_t n, Body body) {
        two_.execute([&] {
            tbb::task_group group;
            for (std::size_t i = 0; i != n; ++i) group.run([body, i] { body(i); });
            group.wait();
        });
    }

private:
    /// A body in oneTBB's style, which is split and joined.
    template <class T, class Operation>
    class scan_body {
    public:
        scan_body(const T* input, T* output, const Operation& operation)
            : input_(input), output_(output), operation_(operation) {}
        scan_body(scan_body& other, tbb::split) : scan_body(other.input_, other.output_, other.operation_) {}

        template <class Tag>
        void operator()(const tbb::blocked_range<std::size_t>& part, Tag) {
            std::size_t i = part.begin();
            T sum = is_empty_ ? input_[i] : operation_(sum_, input_[i]);
            if (Tag::is_final_scan()) output_[i] = sum;
            for (++i; i != part.end(); ++i) {
                sum = operation_(sum, input_[i]);
                if (Tag::is_final_scan()) output_[i] = sum;
            }
            sum_ = sum;
            is_empty_ = false;
        }
        void reverse_join(scan_body& left) {
            if (left.is_empty_) return;
            sum_ = is_empty_ ? left.sum_ : operation_(left.sum_, sum_);
            is_empty_ = false;
        }
        void assign(scan_body& other) {
            sum_ = other.sum_;
            is_empty_ = other.is_empty_;
        }

    private:
        const T* input_;
        T* output_;
        Operation operation_;
        T sum_{};
        bool is_empty_ = true;
    };

    tbb::global_control limit_;
    tbb::task_arena arena_;
    tbb::task_arena two_;
};

} // namespace lab::peers

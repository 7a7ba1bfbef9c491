/// Experiment eigen-tensor: the workload for all pools, in one source because Eigen's headers take long to
/// compile; and the rows of the other libraries.
#define EIGEN_USE_THREADS
#include <unsupported/Eigen/CXX11/Tensor>

#include <lab/experiments/eigen-tensor/eigen_tensor.hpp>
#include <lab/peers/eigen.hpp>

#include <lab/harness/busy.hpp>
#include <lab/harness/registry.hpp>
#include <lab/harness/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace lab::eigen_tensor {
namespace {

using tensor = Eigen::Tensor<float, 2>;

/// The meaning of a variant's name: "contraction 512", "element-wise 256, 50 us".
struct setting {
    bool is_contraction = false;
    Eigen::Index size = 0;
    double between_us = 0;
};

setting parse(const std::string& variant) {
    setting s;
    std::istringstream in(variant);
    std::string word;
    char comma = 0;
    in >> word >> s.size >> comma >> s.between_us;
    s.is_contraction = word == "contraction";
    return s;
}

struct operands {
    explicit operands(Eigen::Index n) : a(n, n), b(n, n), result(n, n) {
        for (Eigen::Index i = 0; i != n * n; ++i) {
            a.data()[i] = static_cast<float>(i % 7);
            b.data()[i] = static_cast<float>(i % 5) - 2;
        }
    }
    tensor a, b, result;

    template <class Device>
    void compute(const setting& s, const Device& device) {
        const Eigen::array<Eigen::IndexPair<int>, 1> columns_by_rows{Eigen::IndexPair<int>(1, 0)};
        if (s.is_contraction)
            result.device(device) = a.contract(b, columns_by_rows);
        else
            result.device(device) = a * b + a.sqrt();
    }
};

/// Fails the cell unless the result equals that of one thread.
void check(const cell& c, const operands& o, const setting& s) {
    operands plain(s.size);
    plain.compute(s, Eigen::DefaultDevice());
    for (Eigen::Index i = 0; i != o.result.size(); ++i)
        if (std::abs(o.result.data()[i] - plain.result.data()[i])
            > 1e-3F * std::abs(plain.result.data()[i]) + 1e-3F)
            c.fail("element " + std::to_string(i) + " is wrong");
}

/// One repetition of about 200 ms. The figures are medians over the expressions.
template <class Device>
repetition once(cell& c, const setting& s, operands& o, const Device& device) {
    const double limit_us = c.asked().scale == scale::smoke ? 1'000 : 200'000;
    const auto gap = static_cast<std::uint64_t>(s.between_us * c.asked().turns_per_us);
    std::vector<double> took_us;
    took_us.reserve(100'000);
    repetition found;
    found.used = c.measure([&] {
        const std::uint64_t start = now_ns();
        std::uint64_t end = start;
        while (static_cast<double>(end - start) / 1e3 < limit_us) {
            if (gap != 0) static_cast<void>(turn(gap, end));
            const std::uint64_t begin = now_ns();
            o.compute(s, device);
            end = now_ns();
            took_us.push_back(static_cast<double>(end - begin) / 1e3);
        }
    });
    std::sort(took_us.begin(), took_us.end());
    double sum_us = 0;
    for (const double one : took_us) sum_us += one;
    const auto number = static_cast<double>(took_us.size());
    found.figures = {{"us", quantile(took_us, 0.5)},
                     {"p90_us", quantile(took_us, 0.9)},
                     {"mean_us", sum_us / number},
                     {"cpu_us", found.used.cpu_s() * 1e6 / number - s.between_us}};
    return found;
}

template <class Device>
void measure_on(cell& c, const Device& device) {
    setting s = parse(c.asked().variant);
    if (s.is_contraction && c.asked().scale == scale::smoke) s.size = 64; // the others take seconds
    operands o(s.size);
    static_cast<void>(once(c, s, o, device));
    check(c, o, s);
    for (unsigned r = 0; c.again(r); ++r) c.report(once(c, s, o, device));
}

class eigens_own {
public:
    static constexpr peers::row row = peers::eigen::row;

    explicit eigens_own(unsigned workers) : pool_(static_cast<int>(workers)) {}
    Eigen::ThreadPoolInterface& pool() { return pool_; }

private:
    Eigen::ThreadPool pool_;
};

const bool added = peers::add_row<eigens_own>("eigen-tensor", &run<eigens_own>)
                   && add(implementation{.experiment = "eigen-tensor",
                                         .name = "serial",
                                         .title = "one thread",
                                         .note = "Eigen's default device",
                                         .run = [](cell& c) { measure_on(c, Eigen::DefaultDevice()); },
                                         .order = 90,
                                         .ranked = false});

} // namespace

void measure(cell& c, Eigen::ThreadPoolInterface& pool) {
    measure_on(c, Eigen::ThreadPoolDevice(&pool, static_cast<int>(c.workers())));
}

} // namespace lab::eigen_tensor

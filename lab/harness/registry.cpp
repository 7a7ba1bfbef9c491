#include <lab/harness/registry.hpp>

#include <algorithm>
#include <tuple>

namespace lab {
namespace {

// These are functions, so that the lists exist before the first static initializer adds to them.
std::vector<experiment>& all_experiments() {
    static std::vector<experiment> all;
    return all;
}

std::vector<implementation>& all_implementations() {
    static std::vector<implementation> all;
    return all;
}

template <class T>
std::vector<T> in_order(std::vector<T> all) {
    std::sort(all.begin(), all.end(),
              [](const T& a, const T& b) { return std::tie(a.order, a.name) < std::tie(b.order, b.name); });
    return all;
}

} // namespace

bool add(experiment e) {
    all_experiments().push_back(std::move(e));
    return true;
}

bool add(implementation i) {
    all_implementations().push_back(std::move(i));
    return true;
}

std::vector<experiment> experiments() { return in_order(all_experiments()); }
std::vector<implementation> implementations() { return in_order(all_implementations()); }

const variant& headline_of(const experiment& e) {
    const auto found = std::find_if(e.variants.begin(), e.variants.end(),
                                    [](const variant& v) { return !v.headline.empty(); });
    return found != e.variants.end() ? *found : e.variants.front();
}

} // namespace lab

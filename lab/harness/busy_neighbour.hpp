/// Other processes that keep processors busy.
///
/// Used by: fork-join, bounded-buffer, barrier, semaphore, mutex.
#pragma once

#include <lab/harness/affinity.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// Keeps one processor busy until it is destroyed. By default, it uses the last processor that this process
/// may use. It also ends with this process.
class busy_neighbour {
public:
    /// Throws std::runtime_error if the system refuses to start a process.
    busy_neighbour() : busy_neighbour(usable_cpus().back()) {}
    explicit busy_neighbour(int processor);
    ~busy_neighbour();
    busy_neighbour(const busy_neighbour&) = delete;
    busy_neighbour& operator=(const busy_neighbour&) = delete;

private:
    std::intptr_t process_ = 0;
};

/// If the arguments are those of a busy neighbor that is a program of its own, stays busy for ever. Otherwise
/// returns false.
bool is_busy_neighbour(int argc, char** argv);

/// A busy neighbor on each processor, if the name of the cell's variant ends with ", busy". variant() returns
/// the name without that suffix.
class busy_neighbours {
public:
    explicit busy_neighbours(const std::string& variant) : variant_(variant) {
        if (!variant.ends_with(suffix)) return;
        variant_.resize(variant.size() - suffix.size());
        for (const int processor : usable_cpus()) all_.push_back(std::make_unique<busy_neighbour>(processor));
    }
    /// Returns the name of the variant without the suffix.
    [[nodiscard]] const std::string& variant() const noexcept { return variant_; }
    /// Returns whether there are busy neighbors.
    [[nodiscard]] bool any() const noexcept { return !all_.empty(); }

private:
    static constexpr std::string_view suffix = ", busy";

    std::string variant_;
    std::vector<std::unique_ptr<busy_neighbour>> all_;
};

} // namespace lab

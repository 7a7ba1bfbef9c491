/// A graph of tasks that is built once and runs many times, with a loop and a diagram.
#include <ekiden/flow.hpp>

#include <cmath>
#include <iostream>

int main() {
    double low = 0;
    double high = 0;
    double left = 0;
    double right = 0;

    ekiden::task_graph root; // finds the square root of 2 by bisection
    auto start = root.add("start", [&] {
        low = 1;
        high = 2;
    });
    auto split = root.add("split", [&] { left = right = (low + high) / 2; });
    auto square = root.add("square", [&] { left *= left; });
    auto keep = root.add("keep", [&] { right += 0; }); // runs beside `square`
    auto choose = root.add("choose", [&] { (left > 2 ? high : low) = right; });
    // A condition returns the number of the successor that begins.
    auto done = root.add_condition("precise?", [&] { return high - low > 1e-9 ? 0 : 1; });
    auto report = root.add("report", [&] { std::cout << low << '\n'; });

    start.precede(split);
    split.precede(square, keep);
    choose.succeed(square, keep).precede(done);
    done.precede(split, report); // 0: again, 1: the end

    std::cout << root.diagram("root"); // `dot -Tsvg` draws it
    for (int run = 0; run != 3; ++run) {
        if (!root.run()) return 1;
        if (std::abs(low - std::sqrt(2.0)) > 1e-8) return 1;
    }
    return 0;
}

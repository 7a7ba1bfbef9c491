/// Peer: OpenMP tasks. Compiled twice: by g++ for libgomp, by clang++ for libomp.
///
/// A producer is a member of the team. enter() opens a parallel region with as many threads as there are
/// workers, and one of them submits. The end of the region waits for all tasks.
#pragma once

#include <lab/peers/row.hpp>

namespace lab::peers {

class openmp {
public:
#if defined(LAB_LIBOMP)
    static constexpr peers::row row{"openmp-libomp", "OpenMP (libomp)", 61};
#else
    static constexpr peers::row row{"openmp-libgomp", "OpenMP (libgomp)", 60};
#endif

    explicit openmp(unsigned workers) : workers_(static_cast<int>(workers)) {}

    template <class Body>
    void enter(Body body) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
        body();
    }

    template <class F>
    void post(F f) {
#pragma omp task firstprivate(f)
        f();
    }

    void help() {
#pragma omp taskwait
    }

    template <class F>
    auto call(F f) {
        decltype(f()) result{};
#pragma omp task shared(result) firstprivate(f)
        result = f();
#pragma omp taskwait
        return result;
    }

private:
    int workers_;
};

/// Adds the row of the current compiler. g++ also adds libomp's row, which the other executable runs.
template <class System = openmp>
bool add_openmp(const char* experiment, void (*run)(cell&), const char* note = "", bool ranked = true,
                const char* manner = "") {
#if !defined(LAB_LIBOMP)
    add(implementation{.experiment = experiment,
                       .name = "openmp-libomp",
                       .title = "OpenMP (libomp)",
                       .note = note,
                       .order = 61,
                       .program = "ekiden-lab-libomp",
                       .ranked = ranked,
                       .manner = manner});
#endif
    return add_row<System>(experiment, run, note, ranked, manner);
}

} // namespace lab::peers

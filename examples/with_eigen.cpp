// Eigen's Tensor module computes on a pool of this library. The pool may run other tasks as well.
#define EIGEN_USE_THREADS
#include <examples/eigen_pool.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

#include <ekiden/pool.hpp>

#include <iostream>

int main() {
    ekiden::thread_pool pool(2);
    eigen_pool threads(pool);
    const Eigen::ThreadPoolDevice device(&threads, threads.NumThreads());

    Eigen::Tensor<float, 1> a(100'000);
    Eigen::Tensor<float, 1> b(100'000);
    a.setConstant(2);
    b.device(device) = a * a + a.sqrt();
    std::cout << b(0) << ' ' << b(99'999) << '\n';
    return b(0) == b(99'999) ? 0 : 1;
}

// Writes the metrics of a worker to a file each second, for ./dev top.
#pragma once

#include <ekiden/observe.hpp>
#include <ekiden/records.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

/// Writes a page for Prometheus each second, until it is destroyed. An empty `file` writes nothing.
class metrics_file {
public:
    template <class Worker>
    metrics_file(const Worker& worker, const std::string& file)
        : thread_([&worker, file](const std::stop_token& stop) {
              std::mutex mutex;
              std::unique_lock lock(mutex);
              std::condition_variable_any never;
              while (!file.empty() && !stop.stop_requested()) {
                  ekiden::prometheus_page page;
                  ekiden::records::add_metrics(page, worker.metrics(), file.substr(file.rfind('/') + 1));
                  std::ofstream(file + ".new") << page.text();
                  std::rename((file + ".new").c_str(),
                              file.c_str()); // a reader sees the old page or the new one
                  never.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
              }
          }) {}

private:
    std::jthread thread_;
};

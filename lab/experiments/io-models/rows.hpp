/// Adds a library's four rows to io-models. The shared context is the library's own row.
#pragma once

#include <lab/experiments/io-models/io_models.hpp>
#include <lab/peers/row.hpp>

#include <string>

namespace lab::io_models {

template <class Library>
bool add_rows() {
    const peers::row& r = Library::row;
    const auto add_one = [&r](const char* name, const char* title, void (*run)(cell&), int place) {
        return add(implementation{.experiment = "io-models",
                                  .name = std::string(r.name) + name,
                                  .title = std::string(r.title) + title,
                                  .run = run,
                                  .order = r.order * 10 + place});
    };
    return add_one("", ", shared", &run<shared<Library>>, 0)
           && add_one("-per-thread", ", per thread", &run<per_thread<Library>>, 1)
           && add_one("-hybrid", ", hybrid", &run<hybrid<Library>>, 2)
           && add_one("-half-sync", ", half-sync", &run<half_sync<Library>>, 3);
}

} // namespace lab::io_models

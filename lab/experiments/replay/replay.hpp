/// Experiment replay: runs a trace of requests with each way to process them.
///
/// A model is created for one run: `Model(workers, keys, service)`. One thread calls post(index) in the order
/// of the indices. The destructor returns when all requests have been served. The model serves each by
/// service::serve<Model::promised>(index). `Model::formed` is its shape.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/memory.hpp>
#include <lab/replay/open_loop.hpp>
#include <lab/replay/point.hpp>
#include <lab/replay/schedule.hpp>
#include <lab/replay/service.hpp>
#include <lab/replay/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace lab::replay {

/// Runs `offered` with a new model. Returns the results. Fails the cell if a request was lost or a promise
/// broken.
template <class Model>
repetition run_once(cell& c, const schedule& offered) {
    service s(offered);
    open_loop clients(offered, has_own_processor(c.workers()), most_waiting(offered, c.workers()));
    forget_peak_resident_bytes();
    const double resident_before = resident_bytes();
    run_record record;
    repetition found;
    {
        place_models(c.workers());
        auto model = std::make_unique<Model>(c.workers(), offered.keys, s);
        place_generator(c.workers());
        found.used = c.measure([&] {
            record = clients.run(s, [&](std::size_t index) { model->post(index); });
            model.reset();
        });
    }
    if (s.served() != record.sent)
        c.fail(std::to_string(s.served()) + " of " + std::to_string(record.sent) + " requests were served");
    if (const auto fault = s.find_fault(record.sent, Model::promised)) c.fail(*fault);
    found.figures = figures_of(offered, s, record, found.used);
    found.figures["promise"] = static_cast<double>(Model::promised);
    found.figures["shape"] = static_cast<double>(Model::formed);
    found.figures["memory_kib"] = std::max(0.0, peak_resident_bytes() - resident_before) / 1024;
    return found;
}

/// What lab/replay/predict.hpp needs beside the figures of a run as fast as possible:
///
///     idle_us        P50 of requests without work, each of which finds all asleep
///     idle_lag_us    how much of that was before it was sent
///     sleep_us       P50 of how much too long a sleep is
template <class Model>
std::map<std::string, double> measure_idle(cell& c) {
    std::map<std::string, double> idle = run_once<Model>(c, make_idle_schedule()).figures;
    return {
        {"idle_us", idle["p50_us"]}, {"idle_lag_us", idle["lag_p50_us"]}, {"sleep_us", sleep_excess_us()}};
}

/// One cell. Warms up, then measures. Repeats this up to three times if the processor has changed its speed
/// meanwhile.
template <class Model>
void run(cell& c) {
    const point at = point_of(c);
    sleep_precisely();
    {
        schedule few =
            make_schedule(at.trace, 0, std::min<std::size_t>(at.requests, 500), c.asked().turns_per_us);
        static_cast<void>(run_once<Model>(c, few));
    }
    const schedule offered = make_schedule(at.trace, at.rate, at.requests, c.asked().turns_per_us);
    std::map<std::string, double> idle;
    if (!offered.is_paced()) idle = measure_idle<Model>(c);
    for (unsigned r = 0; r < std::max(c.asked().repetitions, 1U); ++r) {
        repetition found;
        for (int attempt = 0; attempt < 3; ++attempt) {
            const double before = calibrate_turns_per_us(10);
            found = run_once<Model>(c, offered);
            found.figures["drift"] = drift(before, calibrate_turns_per_us(10));
            if (found.figures["drift"] <= most_drift || c.asked().scale == scale::smoke) break;
        }
        found.figures.insert(idle.begin(), idle.end());
        c.report(found);
    }
}

template <class Model>
bool add_model(const char* name, const char* title, int order, const char* note = "") {
    return add(implementation{.experiment = "replay",
                              .name = name,
                              .title = title,
                              .note = note,
                              .run = &run<Model>,
                              .pinnable = false,
                              .order = order,
                              .ranked = Model::promised == promise::order,
                              .manner = Model::formed == shape::serial    ? "serial"
                                        : Model::formed == shape::sharded ? "sharded"
                                                                          : ""});
}

} // namespace lab::replay

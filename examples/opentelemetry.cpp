/// Sends what a pool does to OpenTelemetry: the recorded intervals of the threads as spans, and the counters
/// of the pool as metrics. Needs opentelemetry-cpp. Both exporters write text here. A service takes the
/// exporters for OTLP instead.
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sync.hpp>

#include <opentelemetry/exporters/ostream/metric_exporter_factory.h>
#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/metrics/async_instruments.h>
#include <opentelemetry/metrics/meter.h>
#include <opentelemetry/metrics/observer_result.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_factory.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_options.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/meter_provider_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

namespace otel = opentelemetry;
using namespace std::chrono_literals;

std::string_view name_of(ekiden::trace::kind k) {
    using enum ekiden::trace::kind;
    return k == task ? "task" : k == lock_wait ? "lock_wait" : k == blocked ? "blocked" : "span";
}

/// Sends the recorded intervals. Each call of send() sends the intervals that have ended since the last call.
class span_sender {
public:
    explicit span_sender(otel::trace::Tracer& to) : to_(to) {}

    void send() {
        const ekiden::trace::snapshot shot = ekiden::trace::take();
        // The times of the events are counted from this time. OpenTelemetry wants both clocks.
        const auto length = std::chrono::nanoseconds(shot.length);
        const auto began = std::chrono::system_clock::now() - length;
        const auto steady_began = std::chrono::steady_clock::now() - length;
        // A thread may still be about to record an interval that has just ended. The next call sends it.
        const std::int64_t until = shot.length - std::chrono::nanoseconds(5ms).count();
        for (const ekiden::trace::track& track : shot.tracks) {
            for (const ekiden::trace::event& event : track.events) {
                if (event.is_open || event.end() <= sent_ || event.end() > until || !is_wanted(event.kind))
                    continue;
                otel::trace::StartSpanOptions start;
                start.start_system_time = began + std::chrono::nanoseconds(event.begin);
                start.start_steady_time = steady_began + std::chrono::nanoseconds(event.begin);
                const std::string name(event.name);
                const auto span = to_.StartSpan(name, {{"thread.name", track.thread_name}}, start);
                span->SetAttribute("ekiden.kind", std::string(name_of(event.kind)));
                otel::trace::EndSpanOptions end;
                end.end_steady_time = steady_began + std::chrono::nanoseconds(event.end());
                span->End(end);
            }
        }
        sent_ = std::max(sent_, until);
    }

private:
    static bool is_wanted(ekiden::trace::kind k) {
        using enum ekiden::trace::kind;
        return k == task || k == lock_wait || k == blocked || k == span;
    }

    otel::trace::Tracer& to_;
    std::int64_t sent_ = 0; // nanoseconds since the start of the recording
};

/// Called by OpenTelemetry whenever it reads the metrics.
void observe_tasks(otel::metrics::ObserverResult result, void* pool) {
    using observer = otel::nostd::shared_ptr<otel::metrics::ObserverResultT<std::int64_t>>;
    const auto run = static_cast<const ekiden::thread_pool*>(pool)->metrics().tasks_run;
    otel::nostd::get<observer>(result)->Observe(static_cast<std::int64_t>(run));
}

struct requests {
    ekiden::mutex& lock;
    void operator()() const {
        const ekiden::trace::span here("handle a request"); // until the end of the scope
        const std::lock_guard guard(lock);
    }
};

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

/// Runs requests, and writes their spans and metrics. The end of the providers ends the threads of
/// OpenTelemetry.
void run_requests(std::ostream& spans, std::ostream& metrics) {
    namespace tracing = otel::sdk::trace;
    const auto tracers = tracing::TracerProviderFactory::Create(tracing::SimpleSpanProcessorFactory::Create(
        otel::exporter::trace::OStreamSpanExporterFactory::Create(spans)));
    const auto tracer = tracers->GetTracer("ekiden");
    otel::sdk::metrics::PeriodicExportingMetricReaderOptions each_second;
    each_second.export_interval_millis = 1000ms;
    each_second.export_timeout_millis = 500ms;
    const auto meters = otel::sdk::metrics::MeterProviderFactory::Create();
    auto& owner = static_cast<otel::sdk::metrics::MeterProvider&>(*meters);
    owner.AddMetricReader(otel::sdk::metrics::PeriodicExportingMetricReaderFactory::Create(
        otel::exporter::metrics::OStreamMetricExporterFactory::Create(metrics), each_second));
    const auto meter = meters->GetMeter("ekiden");

    ekiden::trace::start();
    ekiden::mutex lock;
    ekiden::thread_pool pool({.threads = 2, .name = "requests"});
    const auto tasks = meter->CreateInt64ObservableCounter("ekiden.pool.tasks", "tasks that have run");
    tasks->AddCallback(&observe_tasks, &pool);
    {
        span_sender sender(*tracer);
        const std::jthread exporter([&sender](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                std::this_thread::sleep_for(20ms);
                sender.send();
            }
        });
        for (int i = 0; i != 30; ++i) pool.post(requests{lock});
        pool.wait_idle();
        std::this_thread::sleep_for(30ms); // a service runs for longer
    }
    owner.ForceFlush();
    tasks->RemoveCallback(&observe_tasks, &pool);
}

} // namespace

int main() {
    std::ostringstream spans;
    std::ostringstream metrics;
    run_requests(spans, metrics);
    const std::size_t sent = count(spans.str(), "name          : handle a request");
    std::cout << metrics.str() << sent << " spans\n";
    const bool counts = metrics.str().find("value\t\t: 30") != std::string::npos;
    return sent == 30 && counts ? EXIT_SUCCESS : EXIT_FAILURE;
}

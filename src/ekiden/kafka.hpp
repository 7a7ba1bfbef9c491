/// Lanes over Kafka: requests that travel between processes.
///
/// Part: kafka. Used by: programs, which link the target ekiden::kafka. Includes every public header of this
/// part.
#pragma once

#include <ekiden/kafka/embedded_brokers.hpp>
#include <ekiden/kafka/error.hpp>
#include <ekiden/kafka/poster.hpp>
#include <ekiden/kafka/settings.hpp>
#include <ekiden/kafka/worker.hpp>

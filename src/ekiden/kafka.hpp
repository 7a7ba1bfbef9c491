/// Lanes over Kafka: requests that travel between processes.
///
/// Part: kafka. Used by: programs. Programs link the CMake target ekiden::kafka.
#pragma once

#include <ekiden/kafka/error.hpp>
#include <ekiden/kafka/poster.hpp>
#include <ekiden/kafka/settings.hpp>

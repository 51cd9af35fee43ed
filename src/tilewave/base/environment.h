// Settings that come as environment variables.
#pragma once

namespace tilewave {

/// Seconds that a variable says; `fallback` where it is not set or empty. Throws Error(kUsage) for
/// what is no number above 0.
double seconds_from(const char* variable, double fallback);

}  // namespace tilewave

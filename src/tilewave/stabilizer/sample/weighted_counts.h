// Confidence intervals for sums of counts with weights, as strata give them: an estimate
// y = sum w_i x_i whose x_i are counts of rare events with variances that add up to v. Fay and Feuer
// (Statistics in Medicine 16, 1997, 791): y is like a gamma number of mean y and variance v, and one
// more event could have had at most the largest weight w,
//   low  = G(alpha / 2; y, v),   high = G(1 - alpha / 2; y + w, v + w^2),
// G(q; m, v) the quantile of the gamma distribution of mean m and variance v. With equal weights this
// is the exact Poisson interval, a little wider than Clopper and Pearson's; with many events
// it is the normal one; without any, low is 0 and high 3.69 w for 95%.
#pragma once

namespace tilewave::stabilizer {

struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// P(a, x), the share of a gamma distribution of shape a > 0 and scale 1 that lies below x.
double gamma_share(double shape, double x);
/// Its inverse, for 0 < share < 1.
double gamma_quantile(double shape, double share);

/// For a value in [0, 1] as above; `confidence` is 1 - alpha.
Estimate weighted_interval(double value, double variance, double largest_weight, double confidence);

}  // namespace tilewave::stabilizer

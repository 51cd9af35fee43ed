// Confidence intervals for sums of counts with weights, as strata give them: an estimate
// y = sum w_i x_i whose x_i are counts of rare events with variances that add up to v. Fay and Feuer
// (Statistics in Medicine 16, 1997, 791): y is like a gamma number of mean y and variance v, and one
// more event could have had at most the largest weight w,
//   low  = G(alpha / 2; y, v),   high = G(1 - alpha / 2; y + w, v + w^2),
// G(q; m, v) the quantile of the gamma distribution of mean m and variance v. With equal weights this
// is the exact Poisson interval, a little wider than Clopper and Pearson's; with many events
// it is the normal one; without any, low is 0 and high 3.69 w for 95%.
//
// The variances here are binomial, so counts that are all or nearly all of their shots have next to
// none, however few these are. There the other outcome is the rare event: one fewer could have
// been, of weight u,
//   low  = G(alpha / 2; y - u, v + u^2).
#pragma once

namespace tilewave::stabilizer {

struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// P(a, x), the share of a gamma distribution of shape a > 0 and scale 1 that lies below x.
double gamma_share(double shape, double x);
/// Its inverse, for 0 < share < 1.
double gamma_quantile(double shape, double share);

/// The largest weights of a shot that could have been an event, and of one that could have been none.
/// `rare_*`: only those of shots whose outcome is the usual one in their stratum.
struct EventWeights {
  double more = 0, fewer = 0;
  double rare_more = 0, rare_fewer = 0;

  /// Notes the shots of a stratum, `weight` each, of which `share` are events; where `may_be` is
  /// false, no other one can be.
  void add(double weight, double share, bool may_be = true);
};

/// For a value in [0, 1] as above; `confidence` is 1 - alpha.
Estimate weighted_interval(double value, double variance, const EventWeights& weights,
                           double confidence);

}  // namespace tilewave::stabilizer

-- SPDX-License-Identifier: Apache-2.0

-- For the scripts of wrk beside it: prints one line of JSON at the end.

function done(summary, latency)
   local errors = summary.errors
   print(string.format(
      '{"requests":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"refused":%d,"broken":%d}',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
      latency:percentile(99) / 1e3, errors.status,
      errors.connect + errors.read + errors.write + errors.timeout))
end

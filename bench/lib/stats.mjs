// SPDX-License-Identifier: Apache-2.0

// From the figures of single runs to medians and ratios.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The median of each figure, and of the value that the row compares also the least and the most.
export function summarise(runs) {
  const figures = {};
  for (const name of Object.keys(runs[0])) figures[name] = median(runs.map((run) => run[name]));
  const values = runs.map((run) => run.value);
  return { ...figures, least: Math.min(...values), most: Math.max(...values), runs };
}

// The worst of several peers, by their medians: who is to be beaten.
function worst(row, results, names) {
  const value = (name) => results[name].value;
  const isWorse = (a, b) => (row.higherIsBetter ? value(a) < value(b) : value(a) > value(b));
  return names.reduce((a, b) => (isWorse(b, a) ? b : a));
}

// How many times as good as a peer. It is the ratio of the medians; least and most are of the
// rounds, each of which ran the two in turn. Above 1 is better, whatever the unit.
function ratioTo(row, ours, theirs) {
  const quotient = (a, b) => (row.higherIsBetter ? a / b : b / a);
  const rounds = ours.runs.map((run, i) => quotient(run.value, theirs.runs[i].value));
  const figures = {
    ratio: quotient(ours.value, theirs.value),
    least: Math.min(...rounds),
    most: Math.max(...rounds),
  };
  if (ours.cpu_us > 0 && theirs.cpu_us > 0) figures.cpu_ratio = theirs.cpu_us / ours.cpu_us;
  return figures;
}

function distanceTo(ours, theirs) {
  const rounds = ours.runs.map((run, i) => run.value - theirs.runs[i].value);
  return {
    distance: ours.value - theirs.value,
    least: Math.min(...rounds),
    most: Math.max(...rounds),
  };
}

// What a row's target asks, and whether it is met. The forms of a target:
//   { of, to, atLeast }  so many times as good; `to` may be a list, of which the worst counts;
//                        without atLeast it is shown and judged by nobody
//   { of, to, within }   further from the other by no more than that, in the row's unit
//   { of, atMost }       no more than that, in the row's unit
//   { of, atLeast }      no less than that, likewise
// A contender that could not be measured makes the result { …, missing: why }.
export function compare(row, results, target) {
  const names = [target.of, ...[target.to ?? []].flat()];
  const absent = names.find((name) => results[name].missing);
  if (absent) return { ...target, missing: results[absent].missing };
  const ours = results[target.of];
  if (target.to === undefined) {
    const is_met = ours.value <= (target.atMost ?? Infinity) && ours.value >= (target.atLeast ?? 0);
    return { ...target, is_met };
  }
  const to = worst(row, results, [target.to].flat());
  if (target.within !== undefined) {
    const figures = distanceTo(ours, results[to]);
    return { ...target, ...figures, to, is_met: figures.distance <= target.within };
  }
  const figures = ratioTo(row, ours, results[to]);
  const is_met = target.atLeast === undefined ? null : figures.ratio >= target.atLeast;
  return { ...target, ...figures, to, is_met };
}

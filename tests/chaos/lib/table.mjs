// SPDX-License-Identifier: Apache-2.0
// The table of counts.

const NAME = 36;
const COLUMNS = [
  ['sent', ({ sent }) => sent],
  ['accepted', ({ counts }) => counts.accepted],
  ['refused', ({ counts }) => counts.refused],
  ['unknown', ({ counts }) => counts.unknown],
  ['stored', ({ counts }) => counts.stored],
  ['read', ({ counts }) => counts.read],
  ['doubled', ({ faults }) => faults.doubled],
  ['lost', ({ faults }) => faults.lost],
  ['disordered', ({ faults }) => faults.disordered],
  ['wrong', ({ faults }) => faults.wrong],
  ['s', ({ ms }) => (ms / 1000).toFixed(1)],
];

const width = (title) => Math.max(title.length, title === 's' ? 6 : 8) + 1;

export const tableHead = () =>
  'scenario'.padEnd(NAME) + COLUMNS.map(([title]) => title.padStart(width(title))).join('');

export const tableRow = (name, result) =>
  name.padEnd(NAME) +
  COLUMNS.map(([title, value]) => String(value(result) ?? 0).padStart(width(title))).join('');

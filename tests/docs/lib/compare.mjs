// SPDX-License-Identifier: Apache-2.0
// Whether a program printed what the page shows. What differs each time is the same word on both
// sides. In the page `…` stands for anything, and JSON may be wrapped.

const NORMALISED = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, 'TIME'],
  [/\b\d{4}-\d\d-\d\d\b/g, 'DATE'],
  [/\b1[6-9]\d{8}\b/g, 'SECONDS'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID'],
  [/\b[0-9a-f]{32}\b/g, 'ID'],
  [/\bparley_[0-9A-Za-z]{49}\b/g, 'TOKEN'],
  [/(localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5}\b/g, '$1:PORT'],
  [/\b\d+\.\d+\.\d+(?![\d.])/g, 'VERSION'],
  [/\b\d+(\.\d+)? ?(ns|µs|ms|s)\b/g, 'DURATION'],
];

const normalise = (text) =>
  NORMALISED.reduce((result, [pattern, word]) => result.replace(pattern, word), text);

const squeeze = (text, isJson) =>
  isJson ? text.replace(/\s+/g, '') : text.replace(/[ \t]+$/gm, '').trim();

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

export function isAsShown(shown, printed, language) {
  const isJson = language === 'json';
  const parts = squeeze(normalise(shown), isJson).split('…').map(escape);
  const pattern = new RegExp(`^${parts.map((part) => part.trim()).join('[^]*?')}$`);
  return pattern.test(squeeze(normalise(printed), isJson));
}

// SPDX-License-Identifier: Apache-2.0
// The server's log as objects, of both forms: docs/logs.md. What is not a line of the log has only
// `text`.

const FIELD = /(?:^| )([a-z0-9_]+)=("(?:[^"\\]|\\.)*"|[^\s"=\\]+)/gy;

function logfmt(text) {
  const fields = {};
  let end = 0;
  for (const match of text.matchAll(FIELD)) {
    const [whole, key, value] = match;
    fields[key] = value.startsWith('"') ? JSON.parse(value) : value;
    end = match.index + whole.length;
  }
  return end === text.length && fields.time ? { ...fields, text } : { text };
}

const parse = (text) => (text.startsWith('{') ? { ...JSON.parse(text), text } : logfmt(text));

export const parseLog = (text) => text.split('\n').slice(0, -1).map(parse);

// What somebody has to do something about, and what is no line of the log.
export const faultsIn = (text) =>
  parseLog(text).filter(({ level }) => level !== 'info' && level !== 'debug');

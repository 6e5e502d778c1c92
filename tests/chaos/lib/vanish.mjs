// SPDX-License-Identifier: Apache-2.0
// Clients that vanish after every byte of a request, and others that stay and say no more. What was
// not sent whole must not be stored.

import { atEnd } from '../../e2e/lib/cleanup.mjs';
import { NDJSON_TYPE, chunk, connectRaw, rawChunkedHead, rawPost } from '../../e2e/lib/http.mjs';
import { REFUSED, UNKNOWN } from './ledger.mjs';
import { KINDS } from './texts.mjs';

const AT_ONCE = 16; // connections
const path = (account) => `/v1/${KINDS[account.kind].protocol}/messages`;

// Requests of `count` messages: the bytes, and after which of them each message is whole.
const SHAPES = {
  single: {
    count: 1,
    bytes: (account, [text]) => rawPost(path(account), text),
    ends: (bytes) => [bytes.length],
  },
  lines: {
    count: 3,
    bytes: (account, texts) =>
      rawPost(path(account), texts.map((text) => `${text}\n`).join(''), { type: NDJSON_TYPE }),
    ends: endsOf,
  },
  chunks: {
    count: 2,
    bytes: (account, texts) =>
      Buffer.concat([
        Buffer.from(rawChunkedHead(path(account))),
        ...texts.map((text) => chunk(`${text}\n`)),
        Buffer.from('0\r\n\r\n'),
      ]),
    ends: endsOf,
  },
};

// A message of many is taken once its text is there; whether its newline must be is left open.
function endsOf(bytes, texts) {
  return texts.map((text) => bytes.indexOf(text) + Buffer.byteLength(text));
}

// How the connection ends: in order, or with a reset.
const ENDS = {
  closed: (connection) => connection.socket.destroy(),
  reset: (connection) => connection.socket.resetAndDestroy(),
};

async function vanish(account, server, shape, end, at) {
  const numbers = Array.from({ length: shape.count }, () => account.take());
  const texts = numbers.map((number) => account.text(number));
  const bytes = shape.bytes(account, texts);
  const cut = Math.min(at, bytes.length);
  try {
    const connection = await connectRaw(server);
    if (cut > 0) await connection.write(bytes.subarray(0, cut));
    end(connection);
  } catch {
    // refused: nothing was sent, which says the same of what was not sent whole
  }
  const ends = shape.ends(bytes, texts);
  for (const [i, number] of numbers.entries()) {
    const isWhole = cut >= ends[i];
    account.record(number, isWhole ? UNKNOWN : REFUSED, { detail: `vanished after ${cut} bytes` });
  }
  return bytes.length;
}

// Every offset of each shape and end, or each `step`th of them.
export async function vanishEverywhere(ledger, server, step) {
  const account = ledger.open('vlp');
  for (const shape of Object.values(SHAPES)) {
    for (const end of Object.values(ENDS)) {
      let length = Infinity;
      for (let at = 0; at <= length; at += step * AT_ONCE) {
        const offsets = Array.from({ length: AT_ONCE }, (_, i) => at + i * step);
        const lengths = offsets.map((each) => vanish(account, server, shape, end, each));
        length = Math.max(...(await Promise.all(lengths)));
      }
    }
  }
}

// Connections that stay open, with a part of a request sent.
export async function fallSilent(scope, ledger, server, count) {
  const account = ledger.open('vlp');
  for (let i = 0; i < count; i++) {
    const number = account.take();
    const bytes = SHAPES.single.bytes(account, [account.text(number)]);
    const cut = Math.floor((bytes.length * i) / count);
    const connection = await connectRaw(server);
    atEnd(scope, () => connection.close());
    await connection.write(bytes.subarray(0, cut));
    account.record(number, REFUSED, { detail: `silent after ${cut} bytes` });
  }
}

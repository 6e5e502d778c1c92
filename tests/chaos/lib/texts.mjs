// SPDX-License-Identifier: Apache-2.0
// The messages of a client, each made from its number alone, so that what is read back can be
// compared byte for byte though nothing of it was kept. A kind is a protocol and a shape;
// `placeOf` finds the client and the number again in the text.

const ESCAPED = ['\\"stored\\"', '\\\\', '\\u00e9', '\\n'];
const WORDS = [...ESCAPED, 'accepted', 'once', 'é', '漢字', '🛰', '1e5', '{', ']', ','];

// Lengths and contents that differ from message to message, and are the same in each run.
function padding(client, number) {
  let text = '';
  const count = 2 + ((client + number) % 5) * 4;
  for (let i = 0; i < count; i++) text += ` ${WORDS[(client * 5 + number * 7 + i) % WORDS.length]}`;
  return text.slice(1);
}

const hex = (value, digits) => value.toString(16).padStart(digits, '0');

// A UUID that says which client's request this is.
const uuid = (client, number) => `${hex(client, 8)}-0000-4000-8000-${hex(number, 12)}`;

function vlp(client, number, { id = `"id":"c${client}-${number}",`, filler } = {}) {
  const text = filler ?? padding(client, number);
  return (
    `{${id}"protocol":"VLP/1.1","type":"claim","timestamp":"2025-12-14T10:30:00Z",` +
    `"sender":"client ${client}","content":"#${client}-${number} ${text}","confidence":0.85}`
  );
}

// A request, then its result.
function task(client, number) {
  const isReply = number % 2 === 1;
  const head = `{"id":"${uuid(client, number)}","version":"1.0.0"`;
  const time = '"timestamp":"2025-12-14T10:30:00Z"';
  const what = `"#${client}-${number} ${padding(client, number)}"`;
  if (!isReply) {
    const payload = `{"task":"d${client}.do","params":{"what":${what}}}`;
    return `${head},"type":"task.request","from":"pilot",${time},"payload":${payload}}`;
  }
  const to = `"correlationId":"${uuid(client, number - 1)}"`;
  const payload = `{"status":"completed","result":{"format":"text","content":${what}}}`;
  return `${head},"type":"task.result","from":"worker",${time},${to},"payload":${payload}}`;
}

const BIG = 'x'.repeat(6_000);

export const KINDS = {
  // A digest of its bytes tells that it was sent before.
  vlp: { protocol: 'vlp', stream: 'VLP', text: (client, number) => vlp(client, number) },
  // Nothing does of one whose id parley made up: it must not be sent twice.
  stamped: {
    protocol: 'vlp',
    stream: 'VLP',
    query: '?stamp=true',
    text: (client, number) => vlp(client, number, { id: '' }),
    isStored: (payload, text) =>
      /^\{"id":"[0-9a-f-]{36}",/.test(payload) && payload.slice(45) === text.slice(1),
  },
  // Each eighth is more than a small max_payload takes.
  uneven: {
    protocol: 'vlp',
    stream: 'VLP',
    text: (client, number) => vlp(client, number, number % 8 === 7 ? { filler: BIG } : {}),
  },
  large: {
    protocol: 'vlp',
    stream: 'VLP',
    text: (client, number) => vlp(client, number, { filler: BIG.repeat(10) }),
  },
  tasks: { protocol: 'roundtable', stream: 'ROUNDTABLE', text: task },
};

// Whether a payload is what must be stored of a text.
export function isStoredAs(kind, payload, text) {
  const { isStored } = KINDS[kind];
  return isStored ? isStored(payload, text) : payload === text;
}

// Whose a payload is: { client, number }, or null.
export function placeOf(payload) {
  const start = payload.indexOf('"#');
  if (start === -1) return null;
  const found = /^"#(\d+)-(\d+) /.exec(payload.toString('latin1', start, start + 32));
  return found && { client: Number(found[1]), number: Number(found[2]) };
}

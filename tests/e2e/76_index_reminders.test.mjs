// SPDX-License-Identifier: Apache-2.0
// --remind: an acknowledgement that is overdue is asked for once, whatever gateways run, and the
// reminder changes nothing in who must acknowledge what.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { holdThread } from './lib/held_thread.mjs';
import { get, post } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';

const THREAD = 'RS-20260101-heat';
const ON = ['--index', 'on', '--remind', '2s'];
const question = '# Q\n\n## Question\nWhy?\n\n## Urgency\nSoon\n';
const kickoff = '# K\n\n## Context\nIt is warm.\n';
const ack = (place) => `# A\n\n## Message ID\n${place}\n\n## Status\nReceived\n`;

// ThreadSanitizer takes no library before its own.
const cannotSetClock =
  (!process.env.CHAOS_CLOCK || process.env.PARLEY_SANITIZE?.includes('thread')) &&
  'CHAOS_CLOCK does not name the library of tests/chaos/clock.c, or is of no use';

async function send(server, from, subject, to, body_md, more) {
  const message = { from, subject, to, body_md, thread_id: THREAD, ...more };
  const answer = await post(server, '/v1/brenner/messages', JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
  return `${answer.json.stream}:${answer.json.seq}`;
}
const ask = (server, subject, to, more) =>
  send(server, 'Ann', `QUESTION: ${subject}`, to, question, { ack_required: true, ...more });

async function natsFor(t) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  return nats;
}

// All that gateways have said, in the order of storage.
async function remindersIn(client, stream = 'BRENNER') {
  const stored = await storedMessages(client, { stream });
  return stored.map((message) => ({ ...message, said: JSON.parse(message.payload) }))
    .filter(({ said }) => said.from === 'parley');
}
const idsIn = async (client, stream) => (await remindersIn(client, stream)).map(({ said }) => said.id);
const reminded = (client, id, stream) =>
  until(`${id} is stored`, async () => (await idsIn(client, stream)).includes(id) && idsIn(client, stream));

async function indexed(server, path) {
  let answer;
  await until('the index has it', async () => {
    answer = await get(server, path);
    return answer.status === 200;
  });
  return answer.json;
}

describe('an acknowledgement that is overdue', { concurrency: true }, () => {
  it('is asked for once by two gateways, of who has not given it', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const start = () => parleyFor(t, { nats: nats.url, args: ON });
    const [one, other] = await Promise.all([start(), start()]);
    const places = [];
    for (let i = 0; i < 40; i++) places.push(await ask(i % 2 ? one : other, `number ${i}`, ['Bob', 'Cleo']));
    for (const place of places) await send(one, 'Bob', 'ACK: it', ['Ann'], ack(place), { thread_id: 'COORD-other' });
    await send(one, 'Dora', 'INFO: not asked', ['Bob'], 'x');
    const opened = await send(other, 'Ann', 'KICKOFF: to anyone', [], kickoff, { ack_required: true, thread_id: 'COORD-new' });
    const wanted = [...places.map((place) => `remind:${place}:Cleo`), `remind:${opened}:`];
    await reminded(client, wanted.at(-1));
    const last = await ask(one, 'the last', ['Bob']);
    assert.deepEqual((await reminded(client, `remind:${last}:Bob`)).sort(), [...wanted, `remind:${last}:Bob`].sort());
    const counts = await Promise.all([one, other].map(async (server) => valueOf(await metricsOf(server), 'parley_reminders_total')));
    assert.equal(counts[0] + counts[1], wanted.length + 1);
  });

  it('is asked for in its thread, by a message that asks for nothing', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const server = await parleyFor(t, { nats: nats.url, args: [...ON, '--subject-prefix', 'brenner=fleet-a'] });
    const stream = 'BRENNER_FLEET-A';
    const place = await ask(server, 'Which rubric?', ['Bób "B"']);
    await reminded(client, `remind:${place}:Bób "B"`, stream);
    const [{ seq, subject, said, headers }] = await remindersIn(client, stream);
    assert.equal(subject, `fleet-a.info.${THREAD}`);
    assert.equal(headers['nats-msg-id'], `remind:${place}:B%C3%B3b%20%22B%22`);
    assert.deepEqual({ ...said, body_md: '' }, {
      id: `remind:${place}:Bób "B"`, from: 'parley', to: ['Bób "B"'], thread_id: THREAD,
      subject: 'INFO: Acknowledgement overdue: QUESTION: Which rubric?', body_md: '',
    });
    assert.ok(said.body_md.includes(`\`## Message ID\` is \`${place}\``), said.body_md);

    // Whose turn it is has not changed: who wrote before is asked, and that is not the gateway.
    const after = `after=${stream}:${seq}&wait=5`;
    const acks = await indexed(server, `/v1/brenner/acks?${after}`);
    assert.deepEqual(acks.items.map(({ message, recipient, answered }) => [message, recipient, answered]),
      [[place, 'Bób "B"', null]]);
    assert.deepEqual(acks.unmatched, []);
    await send(server, 'Cleo', 'INFO: hello', ['Ann'], 'x');
    const open = await ask(server, 'To all', []);
    const later = await indexed(server, `/v1/brenner/acks?after=${open}&wait=5`);
    assert.deepEqual(later.items.filter(({ message }) => message === open).map(({ recipient }) => recipient), ['Cleo']);
    const inbox = (query) => indexed(server, `/v1/brenner/inbox?agent=${encodeURIComponent('Bób "B"')}&${query}`);
    assert.deepEqual((await inbox('')).items.map(({ sender, more }) => [sender, more]), [['Ann', undefined], ['parley', undefined]]);
    assert.deepEqual((await inbox('unacked=true')).items.map(({ sender }) => sender), ['Ann']);
    const verdict = await post(server, '/v1/brenner/validate', JSON.stringify(said));
    assert.deepEqual([verdict.json.valid, verdict.json.violations], [true, []]);
  });

  it('is not asked for again when the index was made again and the stream has forgotten the id', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const { streams } = await client.jetstreamManager();
    await streams.add({ name: 'BRENNER', subjects: ['brenner.>'], duplicate_window: 100e6 });
    const first = await parleyFor(t, { nats: nats.url, args: ON });
    const early = await ask(first, 'early', ['Bob', 'x'.repeat(250)]);
    const ids = ['Bob', 'x'.repeat(250)].map((name) => `remind:${early}:${name}`);
    for (const id of ids) await reminded(client, id);
    await first.kill();
    const second = await parleyFor(t, { nats: nats.url, args: ON });
    const late = await ask(second, 'late', ['Bob']);
    assert.deepEqual((await reminded(client, `remind:${late}:Bob`)).sort(), [...ids, `remind:${late}:Bob`].sort());
  });

  it('is not asked for if it was given while the index was behind', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const server = await parleyFor(t, { nats: nats.url, args: ON });
    const place = await ask(server, 'in time', ['Bob', 'Cleo']);
    await indexed(server, `/v1/brenner/acks?after=${place}&wait=5`);
    const { letGo } = await holdThread(t, server.program, 'index');
    await send(server, 'Bob', 'ACK: it', ['Ann'], ack(place));
    // The index still says that it is open, for longer than several rounds of the gateway take.
    await until('it is overdue for long', async () =>
      (await get(server, '/v1/brenner/acks?open=true&overdue=9s')).json.items.length === 2);
    assert.deepEqual(await idsIn(client), []);
    await letGo();
    assert.deepEqual(await reminded(client, `remind:${place}:Cleo`), [`remind:${place}:Cleo`]);
  });

  it('is left alone if it became overdue more than a day ago', { skip: cannotSetClock }, async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const before = await parleyFor(t, { nats: nats.url });
    await ask(before, 'old', ['Bob']);
    const clock = join(temporaryFolder(), 'offset');
    writeFileSync(clock, `${25 * 3600}\n`);
    const env = {
      LD_PRELOAD: process.env.CHAOS_CLOCK,
      CHAOS_CLOCK_FILE: clock,
      ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
    };
    const later = (duration) => parleyFor(t, { nats: nats.url, env, args: ['--index', 'on', '--remind', duration] });
    const early = await later('2s');
    await indexed(early, '/v1/brenner/acks?after=BRENNER:1&wait=5');
    const late = await later('3h'); // the same message is overdue for 22 hours only
    assert.deepEqual(await reminded(client, 'remind:BRENNER:1:Bob'), ['remind:BRENNER:1:Bob']);
    await until('it is counted', async () => valueOf(await metricsOf(late), 'parley_reminders_total') === 1);
    assert.equal(valueOf(await metricsOf(early), 'parley_reminders_total'), 0);
  });

  it('is asked for in another stream, to which an operator has moved the messages', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const server = await parleyFor(t, { nats: nats.url, args: ON });
    const first = await ask(server, 'in the first stream', ['Bob']);
    await reminded(client, `remind:${first}:Bob`);
    const { streams } = await client.jetstreamManager();
    const { config } = await streams.info('BRENNER');
    await streams.delete('BRENNER');
    await streams.add({ name: 'MOVED', subjects: config.subjects, duplicate_window: config.duplicate_window });
    let second;
    await until('it is stored there', async () => {
      second = await ask(server, 'in the other stream', ['Bob']).catch(() => undefined);
      return second?.startsWith('MOVED:');
    });
    await reminded(client, `remind:${second}:Bob`, 'MOVED');
  });
});

// SPDX-License-Identifier: Apache-2.0
// Streams tell halts and their release to each reader whose filters can match the conversation, also
// where it does not get the message that halts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useFleet } from './lib/fleet.mjs';
import { block, release, review, safe, session } from './lib/halts.mjs';
import { get, readEvents, request, send, streamFor } from './lib/http.mjs';
import { assertAccepted, uniqueId } from './lib/vlp.mjs';

const isTold = ({ type }) => type === 'parley.halted' || type === 'parley.released';
const toldIn = (events) => events.filter(isTold).map(({ type, data }) => [type, data]);

// Events of a stream that follows, until `count` are there which are not about the response.
async function nextEvents(stream, count) {
  const events = [];
  while (events.length < count) {
    const event = JSON.parse(await stream.line());
    if (!/^parley\.(open|keepalive)$/.test(event.type)) events.push(event);
  }
  return events;
}

describe('a halt and its release', () => {
  const its = useFleet();

  it('are told to readers whose filters can match the conversation, live and from the past', async (t) => {
    const { gateways: [one, two] } = its;
    const [halted, other] = [session(), session()];
    const live = {};
    for (const query of [`lane=safe&thread=${halted}`, `sender=Zoe`, `type=claim&thread=${other},${halted}`]) {
      live[query] = await streamFor(t, two, `/v1/vlp/stream?${query}`);
      assert.equal(JSON.parse(await live[query].line()).type, 'parley.open');
    }
    const message = block(halted);
    assertAccepted(await send(one, message));
    const { notice } = await release(one, halted);
    const told = [
      ['parley.halted', { session: halted, by: message.sender, why: message.content, id: message.id }],
      ['parley.released', { session: halted, id: notice.id }],
    ];
    for (const [query, stream] of Object.entries(live)) {
      const events = [];
      while (toldIn(events).length < told.length) events.push(...(await nextEvents(stream, 1)));
      assert.deepEqual(toldIn(events), told, query);
    }
    const counts = {
      'lane=safe': 2, 'type=claim': 2, 'sender=Zoe': 2, [`thread=${halted}`]: 2, [`thread=${other}`]: 0, 'domain=x': 0,
    };
    for (const [query, count] of Object.entries(counts)) {
      const ofIt = (await readEvents(one, `since=all&${query}`)).filter(({ data }) => data?.session === halted);
      assert.equal(ofIt.filter(isTold).length, count, query);
    }
  });

  it('come before the message, which is not told of again after it', async () => {
    const { gateways: [server] } = its;
    const halted = session();
    assertAccepted(await send(server, safe(halted)));
    const { seq } = assertAccepted(await send(server, block(halted)));
    assertAccepted(await send(server, review(halted)));
    const events = await readEvents(server, `since=all&thread=${halted}`);
    assert.deepEqual(events.map(({ type }) => type), ['vlp.claim', 'parley.halted', 'vlp.notice', 'vlp.claim']);
    const [, told, message, last] = events;
    assert.equal(told.id, `VLP:${seq}:halted`);
    assert.ok(Date.parse(told.time) > Date.parse(message.time), 'when it was stored');
    const after = async (event) => (await readEvents(server, `since=${event.resume}&thread=${halted}`)).map(({ id }) => id);
    assert.deepEqual(await after(told), [told, message, last].map(({ id }) => id));
    assert.deepEqual(await after(message), [last.id]);
    const limited = await readEvents(server, `since=all&thread=${halted}&limit=2`);
    assert.deepEqual(limited.map(({ id }) => id), events.slice(0, 3).map(({ id }) => id));
    const bare = await readEvents(server, `since=all&thread=${halted}&envelope=none`);
    assert.deepEqual(bare.map(({ session_id }) => session_id), [halted, halted, halted]);
  });

  it('of messages without a session are told to readers of their sender', async () => {
    const { gateways: [server] } = its;
    const sender = `agent-${uniqueId()}`;
    assertAccepted(await send(server, block(undefined, { sender })));
    await release(server, sender, 'sender');
    const counts = { [`sender=${sender}`]: 2, 'sender=another': 0, [`thread=${session()}`]: 0, 'lane=safe': 2 };
    for (const [query, count] of Object.entries(counts)) {
      const ofIt = (await readEvents(server, `since=all&${query}`)).filter(({ type, data }) =>
        isTold({ type }) && data.sender === sender);
      assert.equal(ofIt.length, count, query);
    }
  });

  it('of several conversations at once is told to all', async () => {
    const { gateways: [server] } = its;
    const sessions = [session(), session()];
    for (const halted of sessions) assertAccepted(await send(server, block(halted)));
    const answer = await request(server, 'DELETE', '/v1/vlp/halts?all=true&reason=over');
    assert.equal(answer.status, 200, answer.text);
    const events = await readEvents(server, `since=all&lane=review&thread=${session()}`);
    assert.deepEqual(toldIn(events).at(-1), ['parley.released', { id: answer.json.notice.id }]);
  });

  it('are in the stream of all protocols, in the order of storage, and in server-sent events', async () => {
    const { gateways: [server] } = its;
    const halted = session();
    assertAccepted(await send(server, block(halted)));
    assertAccepted(await send(server, review(halted)));
    const query = `since=all&follow=false&thread=${halted}`;
    const all = await get(server, `/v1/stream?${query}`);
    const ofIt = all.lines.filter(({ data }) => (data.session ?? data.session_id) === halted);
    assert.deepEqual(ofIt.map(({ type }) => type), ['parley.halted', 'vlp.notice', 'vlp.claim']);
    const sse = await get(server, `/v1/vlp/stream?${query}`, { headers: { Accept: 'text/event-stream' } });
    assert.match(sse.text, /^data: .*"type":"parley\.halted"/m);
  });
});

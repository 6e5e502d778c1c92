// SPDX-License-Identifier: Apache-2.0
// NATS not there, or there and silent: the server lives, says 503 or 504, and comes back by itself.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, openStream, readEvents, send, sendLines, validate } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { embeddedUrl, freePorts, natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { IMPATIENT, parleyFor } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { run } from './lib/program.mjs';
import { openAtServer } from './lib/sockets.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

const RECOVERY_MS = isSanitized ? 240_000 : 60_000;

function assertTryAgain(answer, name = 'bus-unavailable') {
  const problem = assertProblem(answer, 503, name);
  assert.match(answer.headers['retry-after'], /^\d+$/);
  return problem;
}

// Without a remark: that the halts cannot be read yet is one.
const isReady = (parley) => async () => (await get(parley, '/readyz')).text === 'ready\n';

// Asked until it is refused: of several reactors one may hear of it later.
const refused = (ask) =>
  until('it is refused', async () => {
    const answer = await ask();
    return answer.status === 503 && answer;
  });

async function externalFor(t, options) {
  const nats = await startNats(options);
  atEnd(t, () => nats.stop());
  return nats;
}

describe('NATS away at start', { concurrency: true }, () => {
  async function startedAlone(t) {
    const [port] = await freePorts(1);
    const options = { nats: `nats://127.0.0.1:${port}`, isAway: true, args: IMPATIENT };
    return { port, parley: await parleyFor(t, options) };
  }

  it('leaves the server alive and not ready', async (t) => {
    const { parley } = await startedAlone(t);
    assert.equal((await get(parley, '/livez')).status, 200);
    assert.equal((await get(parley, '/readyz')).status, 503);
  });

  it('is 503 with Retry-After to whoever sends', async (t) => {
    const { parley } = await startedAlone(t);
    assertTryAgain(await send(parley, claim()));
    assertTryAgain(await send(parley, claims(2)));
    assertTryAgain(await sendLines(parley, lines(claims(2))));
  });

  it('is 503 with Retry-After to whoever reads', async (t) => {
    const { parley } = await startedAlone(t);
    for (const query of ['', '?since=all', '?since=all&follow=false']) {
      assertTryAgain(await get(parley, `/v1/vlp/stream${query}`));
    }
  });

  it('does not matter to /validate, nor to what is wrong with a message', async (t) => {
    const { parley } = await startedAlone(t);
    assert.equal((await validate(parley, claim())).json.valid, true);
    assertProblem(await send(parley, '{'), 400, 'malformed');
    assertProblem(await send(parley, claim({ sender: '' })), 422, 'invalid-message');
  });

  it('is over when it comes: the server becomes ready by itself', async (t) => {
    const { parley, port } = await startedAlone(t);
    const nats = await externalFor(t, { port });
    await until('parley is ready', isReady(parley), { timeout: RECOVERY_MS });
    const message = claim();
    assertAccepted(await send(parley, message));
    const stored = await storedMessages(await natsClient(t, nats.url));
    assert.deepEqual(
      stored.map(({ payload }) => JSON.parse(payload)),
      [message],
    );
    assert.deepEqual(
      (await readEvents(parley)).map((event) => event.id),
      [message.id],
    );
  });
});

describe('NATS away later', () => {
  it('is 503 at once, and over when it comes back', async (t) => {
    const nats = await externalFor(t);
    const parley = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    const message = claim();
    assertAccepted(await send(parley, message));
    await nats.kill();
    await until('parley has noticed', async () => (await get(parley, '/readyz')).status === 503);
    assertTryAgain(await refused(() => send(parley, claim())));
    assertTryAgain(await refused(() => get(parley, '/v1/vlp/stream')));
    assert.equal((await get(parley, '/livez')).status, 200);
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await until('parley is ready', isReady(parley), { timeout: RECOVERY_MS });
    const repeated = assertAccepted(await send(parley, message));
    assert.equal(repeated.duplicate, true, 'what was stored before is known');
  });

  it('does not hold up the end of the server', async (t) => {
    const nats = await externalFor(t);
    const parley = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    await nats.kill();
    await parley.stop();
  });

  it('loses an open reader nothing, if it comes back to where it was', async (t) => {
    const nats = await externalFor(t);
    const parley = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    const messages = claims(4);
    let stream = await openStream(parley, '/v1/vlp/stream');
    atEnd(t, () => stream.close());
    const seen = [];
    // A response that ends is taken up again with the last token, as a client would.
    const next = async () => {
      for (;;) {
        const event = await stream.event();
        if (event?.type === 'vlp.claim') return seen.push(event);
        if (event === null) {
          const since = encodeURIComponent(seen.at(-1).resume);
          stream = await openStream(parley, `/v1/vlp/stream?since=${since}`);
        }
      }
    };
    for (const message of messages.slice(0, 2)) {
      assertAccepted(await send(parley, message));
      await next();
    }
    await nats.kill();
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await until('parley is ready', isReady(parley), { timeout: RECOVERY_MS });
    for (const message of messages.slice(2)) {
      await until('it is taken', async () => (await send(parley, message)).status === 200);
      await next();
    }
    assert.deepEqual(
      seen.map((event) => event.id),
      messages.map((message) => message.id),
    );
  });
});

// An ack that does not come is not waited for any longer.
const STOPPED = [...IMPATIENT, '--ack-timeout', '1s'];

// Connections to this port are reset, where the kernel does that for ss.
const breakConnections = (port) => run('ss', ['-HK', 'dst', '127.0.0.1', 'dport', '=', `:${port}`]);

async function whyNotBroken() {
  if (process.getuid() !== 0) return 'only root may break the connections of others';
  const { stderr } = await breakConnections((await freePorts(1))[0]);
  return /not supported/.test(stderr) && `connections cannot be broken here: ${stderr.trim()}`;
}

describe('a connection to NATS that breaks', { skip: await whyNotBroken() }, () => {
  it('fifty times, with --durability machine, leaves no descriptor open', async (t) => {
    const parley = await parleyFor(t, { args: ['--durability', 'machine', '--reactors', '1'] });
    const { port } = new URL(embeddedUrl(parley));
    const reconnects = async () => valueOf(await metricsOf(parley), 'parley_nats_reconnects_total');
    const breakOnce = async () => {
      const before = await reconnects();
      await breakConnections(port);
      await until('it is connected again', async () => (await reconnects()) > before);
      await until('messages are taken', async () => (await send(parley, claim())).status === 200);
    };
    await breakOnce();
    await until('the connections of this test are closed', () => openAtServer(parley) === 0);
    const before = parley.openFiles();
    for (let i = 0; i < 50; i++) await breakOnce();
    await until(`${before} descriptors are open`, () => parley.openFiles() <= before);
  });
});

describe('a nats-server that is stopped', () => {
  it('blocks nothing: messages get 503 or 504, and the rest goes on', async (t) => {
    const nats = await externalFor(t);
    const parley = await parleyFor(t, { nats: nats.url, args: STOPPED });
    const load = loadFor(t, parley, { senders: 32 });
    await load.accepts(100);
    nats.signal('SIGSTOP');
    let isOver = false;
    const refused = load.refuses(32).finally(() => (isOver = true));
    let asked = 0;
    for (; !isOver || asked < 10; asked++) {
      assert.equal((await get(parley, '/livez')).status, 200);
      assert.equal((await validate(parley, claim())).json.valid, true);
    }
    await refused;
    nats.signal('SIGCONT');
    await load.accepts(100, RECOVERY_MS);
    await load.stop();
    load.assertAccountedFor(await storedMessages(await natsClient(t, nats.url)));
  });

  it('does not fill the memory of the server', async (t) => {
    const nats = await externalFor(t);
    const parley = await parleyFor(t, { nats: nats.url, args: STOPPED });
    await nats.freeze();
    const batch = lines(claims(20_000, { content: 'x'.repeat(2000) }));
    const options = { query: '?results=summary', timeout: 4 * RECOVERY_MS };
    const answer = await sendLines(parley, batch, options);
    if (answer.status === 200) {
      const { summary } = answer.lines.at(-1);
      assert.equal(summary.received, 20_000);
      assert.equal(summary.accepted + summary.duplicate, 0);
      assert.equal(summary.failed, 20_000);
    } else {
      assertTryAgain(answer);
    }
    assert.equal((await get(parley, '/livez')).status, 200);
    nats.signal('SIGCONT');
  });
});

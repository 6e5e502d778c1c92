// SPDX-License-Identifier: Apache-2.0
// SIGHUP: what the configuration file says then holds, while requests go on; and what a file does
// that cannot be used.

import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { send, sendLines, validate } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

// A server with a configuration file, and a function that writes another one, sends SIGHUP and
// returns what was logged of it.
async function configuredFor(t, text, args = []) {
  const path = join(temporaryFolder(), 'parley.conf');
  const write = (content) => {
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  };
  write(text);
  const server = await parleyFor(t, { args: ['--config', path, ...args] });
  const reload = async (content) => {
    const before = server.logged('config.').length;
    write(content);
    server.signal('SIGHUP');
    const said = () => server.logged('config.').slice(before);
    await until('the configuration was read', () =>
      said().some(({ event }) => event !== 'config.restart'),
    );
    return said;
  };
  return { server, path, reload };
}

const policyOf = (answer) => answer.headers['ratelimit-policy'] ?? '';

describe('SIGHUP', () => {
  it('changes limits and rates for the requests that follow', async (t) => {
    const { server, reload } = await configuredFor(t, '# as they are by default\n');
    const large = claim({ content: 'x'.repeat(3000) });
    assertAccepted(await send(server, large));

    const said = await reload('message-max: 2k # was 1 MiB\nrate-messages: 5000\nbody-max: 64k\n');
    const { changed } = said().find(({ event }) => event === 'config.read');
    assert.equal(changed, 'message-max 0 -> 2k, body-max 0 -> 64k, rate-messages 0 -> 5000');
    // Each worker takes them over by itself, a moment later.
    await until('every worker refuses it', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => validate(server, large)));
      return answers.every(({ status }) => status === 422 || status === 413);
    });
    await until('the rate is another', async () => {
      const answer = await send(server, claim());
      assertAccepted(answer);
      return /"messages";q=5000/.test(policyOf(answer));
    });
    await until('every worker bounds bodies', async () => {
      const body = 'x'.repeat(70_000);
      const answers = await Promise.all(Array.from({ length: 8 }, () => sendLines(server, body)));
      return answers.every(({ status }) => status === 413);
    });
    await until('a body is refused', async () => {
      const refused = await sendLines(server, 'x'.repeat(70_000));
      assertProblem(refused, 413, 'too-large');
      assert.match(refused.json.detail, /more than 65536 bytes \(--body-max\)/);
      return true;
    });

    await reload('');
    await until('every worker accepts it again', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => validate(server, large)));
      return answers.every(({ status }) => status === 200);
    });
    await until('there is no rate', async () => policyOf(await send(server, claim())) === '');
  });

  it('names what has effect only after a restart', async (t) => {
    const { server, reload } = await configuredFor(t, 'reactors: 1\n');
    const said = await reload('reactors: 2\nhost: [a.example]\nlog-level: debug\n');
    await until('it is named', () => said().length === 2);
    const [read, waits] = said();
    assert.deepEqual([read.event, read.changed], ['config.read', 'log-level info -> debug']);
    assert.deepEqual([waits.event, waits.options], ['config.restart', 'host, reactors']);
    assertAccepted(await send(server, claim()));
  });

  it('changes nothing where the file has a mistake, which is said with its line', async (t) => {
    const { server, reload } = await configuredFor(t, 'rate-messages: 5000\n');
    const said = await reload('rate-messages: 7\nlisten: 0.0.0.0:1\nquaratine: true\n');
    const [kept] = said();
    assert.deepEqual([kept.event, kept.level], ['config.kept', 'error']);
    assert.match(kept.msg, /parley\.conf:3: unknown key 'quaratine'; did you mean 'quarantine'\?/);
    assert.match(policyOf(await send(server, claim())), /"messages";q=5000/);
  });

  it('loses no request that is under way', async (t) => {
    const { server, reload } = await configuredFor(t, '');
    let isDone = false;
    const load = (async () => {
      let count = 0;
      for (; !isDone; count += 20) {
        const answer = await sendLines(server, lines(claims(20)));
        assert.equal(answer.status, 200);
        assert.ok(answer.lines.slice(0, 20).every(({ seq }) => seq > 0), answer.text);
      }
      return count;
    })();
    for (let i = 1; i <= 10; i++) {
      await reload(`rate-messages: ${i * 100_000}\nspool-max: ${i}m\ngather-max: ${i}m\n`);
    }
    isDone = true;
    assert.ok((await load) > 0);
  });
});

// SPDX-License-Identifier: Apache-2.0
// The commands that need no server of their own: check, rules, protocols, schema, examples, health,
// help.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { freePorts, startNats } from './lib/nats.mjs';
import { IMPATIENT, parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { brokenClaim, claim, lines } from './lib/vlp.mjs';

const VLP_RULES = [...range(1, 14), ...range(101, 105)].map((n) => `VLP-${n}`);
const GW_RULES = range(1, 6).map((n) => `GW-${n}`);

function range(first, last) {
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  return numbers.map((n) => String(n).padStart(3, '0'));
}

function file(name, content) {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
}

const good = () => file('good.json', JSON.stringify(claim(), null, 2));
const bad = () => file('bad.json', '{\n  "id": "MSG001",\n  "protocol": "VLP/1.0"\n}\n');
const mixed = () => file('mixed.ndjson', lines([claim(), brokenClaim(), claim()]));

describe('parley', () => {
  for (const option of ['--help', '--version']) {
    it(`answers ${option} on standard output and exits with 0`, async () => {
      const { code, stdout, stderr } = await parley([option]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /parley/);
    });
  }

  it('names its commands in --help', async () => {
    const { stdout } = await parley(['--help']);
    for (const command of ['serve', 'check', 'rules', 'protocols', 'schema', 'examples', 'health', 'pipe']) {
      assert.match(stdout, new RegExp(`\\b${command}\\b`));
    }
  });

  it('prints a version number in --version', async () => {
    assert.match((await parley(['--version'])).stdout, /\b\d+\.\d+\.\d+\b/);
  });

  it('names the options of serve in serve --help', async () => {
    const { code, stdout } = await parley(['serve', '--help']);
    assert.equal(code, 0);
    for (const option of ['--listen', '--data', '--nats', '--insecure', '--replicas']) {
      assert.ok(stdout.includes(option), option);
    }
  });

  it('refuses a command that it does not know, and names it', async () => {
    const { code, stderr } = await parley(['frobnicate']);
    assert.equal(code, 2);
    assert.match(stderr, /frobnicate/);
  });

  it('lists its protocols', async () => {
    const { code, stdout } = await parley(['protocols']);
    assert.equal(code, 0);
    assert.match(stdout, /^\W*vlp\b/m);
  });

  for (const args of [['rules'], ['rules', 'vlp']]) {
    it(`prints every rule of VLP in \`${args.join(' ')}\``, async () => {
      const { code, stdout } = await parley(args);
      assert.equal(code, 0);
      for (const rule of VLP_RULES) assert.ok(stdout.includes(rule), rule);
    });
  }

  it('prints the rules of every protocol in `rules`', async () => {
    const { stdout } = await parley(['rules']);
    for (const rule of GW_RULES) assert.ok(stdout.includes(rule), rule);
  });

  it('refuses the rules of a protocol that it does not know', async () => {
    const { code, stderr } = await parley(['rules', 'smoke-signals']);
    assert.equal(code, 2);
    assert.match(stderr, /smoke-signals/);
  });
});

describe('parley check', () => {
  it('exits with 0 when every file is valid', async () => {
    const { code, stderr } = await parley(['check', 'vlp', good(), good()]);
    assert.equal(code, 0, stderr);
  });

  it('exits with 1 when something is invalid, and names file, place, rule and remedy', async () => {
    const path = bad();
    const { code, stdout } = await parley(['check', 'vlp', good(), path]);
    assert.equal(code, 1);
    assert.ok(stdout.includes(path), stdout);
    assert.match(stdout, /VLP-002/);
    assert.match(stdout, /\b3:15\b/, 'where the value of protocol stands');
    assert.match(stdout, /VLP\/1\.1/);
  });

  it('exits with 0 when there are only warnings, and prints them', async () => {
    const { code, stdout } = await parley([
      'check',
      'vlp',
      file('m.json', JSON.stringify(claim({ id: 'M1' }))),
    ]);
    assert.equal(code, 0);
    assert.match(stdout, /VLP-101/);
  });

  it('reads standard input when no file is named', async () => {
    const invalid = await parley(['check', 'vlp'], { input: JSON.stringify(brokenClaim()) });
    assert.equal(invalid.code, 1);
    assert.match(invalid.stdout, /VLP-005/);
    const valid = await parley(['check', 'vlp'], { input: JSON.stringify(claim()) });
    assert.equal(valid.code, 0);
  });

  it('reads one message a line of a file named .ndjson, and names the line', async () => {
    const path = mixed();
    const { code, stdout } = await parley(['check', 'vlp', path]);
    assert.equal(code, 1);
    assert.match(stdout, /VLP-005/);
    assert.match(stdout, new RegExp(`${path}:2\\b`));
  });

  it('reads an array of messages', async () => {
    const path = file('m.json', JSON.stringify([claim(), brokenClaim()]));
    const { code, stdout } = await parley(['check', 'vlp', path]);
    assert.equal(code, 1);
    assert.match(stdout, /VLP-005/);
  });

  it('tells the encoding of standard input by its first bytes, or by --type', async () => {
    const input = lines([claim(), claim()]);
    const { code } = await parley(['check', 'vlp', '--type', 'application/x-ndjson'], { input });
    assert.equal(code, 0);
    const one = await parley(['check', 'vlp', '--type', 'application/json'], { input });
    assert.equal(one.code, 1, 'two messages are not one JSON text');
    assert.match(one.stdout, /GW-001/);
  });

  it('reports a body that is no JSON by its rule', async () => {
    const { code, stdout } = await parley(['check', 'vlp', file('m.json', '{"id":')]);
    assert.equal(code, 1);
    assert.match(stdout, /GW-001/);
  });

  it('prints one JSON object a line with --format ndjson', async () => {
    const { code, stdout } = await parley(['check', 'vlp', '--format', 'ndjson', mixed()]);
    assert.equal(code, 1);
    const results = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const invalid = results.filter((result) => result.valid === false);
    assert.equal(invalid.length, 1);
    assert.equal(invalid[0].line, 2);
    assert.deepEqual(
      invalid[0].violations.map((violation) => violation.rule),
      ['VLP-005'],
    );
  });

  it('prints workflow commands with --format github', async () => {
    const path = bad();
    const { code, stdout } = await parley(['check', 'vlp', '--format', 'github', path]);
    assert.equal(code, 1);
    const command = stdout.split('\n').find((line) => line.includes('VLP-002'));
    assert.match(command, /^::error /);
    assert.ok(command.includes(`file=${path}`), command);
    assert.match(command, /\bline=3\b/);
    assert.match(command, /\bcol=15\b/);
  });

  it('prints a warning as a warning with --format github', async () => {
    const path = file('m.json', JSON.stringify(claim({ id: 'M1' })));
    const { stdout } = await parley(['check', 'vlp', '--format', 'github', path]);
    assert.match(stdout, /^::warning .*VLP-101/m);
  });

  for (const [what, args, word] of [
    ['no protocol', ['check'], ''],
    ['a protocol that it does not know', ['check', 'smoke-signals'], 'smoke-signals'],
    ['a file that is not there', ['check', 'vlp', '/nowhere/at-all.json'], '/nowhere/at-all.json'],
    ['a format that it does not know', ['check', 'vlp', '--format', 'sonnet'], 'sonnet'],
    ['an option that it does not know', ['check', 'vlp', '--frobnicate'], '--frobnicate'],
    ['a type that it does not know', ['check', 'vlp', '--type', 'image/png'], 'image/png'],
  ]) {
    it(`exits with 2 for ${what}`, async () => {
      const { code, stderr } = await parley(args, { input: JSON.stringify(claim()) });
      assert.equal(code, 2, stderr);
      assert.notEqual(stderr, '');
      assert.ok(stderr.includes(word), stderr);
    });
  }
});

describe('parley health', () => {
  // It waits 2 s for an answer, which a busy machine can take.
  const isReady = (server) =>
    until('it says that the server is ready', async () => {
      const { code, stderr } = await parley(['health', server.url]);
      assert.equal(code, 0, stderr);
      return true;
    });

  it('exits with 0 when the server is ready', async (t) => {
    const server = await parleyFor(t);
    await isReady(server);
  });

  it('does not exit with 0 when nobody listens', async () => {
    const [port] = await freePorts(1);
    assert.notEqual((await parley(['health', `http://127.0.0.1:${port}`])).code, 0);
  });

  it('does not exit with 0 when the server is alive but not ready', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    await isReady(server);
    await nats.kill();
    await until('it says that the server is not ready', async () => {
      const { code, stderr } = await parley(['health', server.url]);
      return code !== 0 && stderr.includes('is not ready');
    });
  });
});

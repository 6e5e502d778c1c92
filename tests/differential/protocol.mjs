// SPDX-License-Identifier: Apache-2.0
// What the program under test says: its protocols, and its verdicts on many messages.

import { spawn } from 'node:child_process';

// Runs parley to its end and gives what it wrote; a status that is not among `fine` throws.
function run(parley, args, { input = '', fine = [0] } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(parley, args);
    const out = [];
    let errors = '';
    child.stdout.on('data', (bytes) => out.push(bytes));
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.stdin.on('error', () => {}); // it may end before it has read everything
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (fine.includes(code)) resolve(Buffer.concat(out).toString());
      else reject(new Error(`parley ${args.join(' ')} ended with ${code ?? signal}: ${errors}`));
    });
    child.stdin.end(input);
  });
}

export class Protocols {
  constructor(parley) {
    this.parley = parley;
  }

  async json(...args) {
    return JSON.parse(await run(this.parley, args));
  }

  // Those that come as lines of JSON.
  async list() {
    const all = await this.json('protocols', '--format', 'json');
    return all.filter(({ encodings }) => encodings.some(({ name }) => name === 'ndjson'));
  }

  schema(name) {
    return this.json('schema', name);
  }

  rules(name) {
    return this.json('rules', name, '--format', 'json');
  }

  examples(name) {
    return this.json('examples', name, '--format', 'json');
  }

  // The verdict on each of these texts, none of which has a line feed.
  async check(name, texts) {
    const out = await run(
      this.parley,
      ['check', name, '--type', 'application/x-ndjson', '--format', 'ndjson'],
      { input: `${texts.join('\n')}\n`, fine: [0, 1] },
    );
    const verdicts = out.trimEnd().split('\n').map((line) => JSON.parse(line)).slice(0, -1);
    if (verdicts.length !== texts.length) {
      throw new Error(`${texts.length} messages have ${verdicts.length} verdicts`);
    }
    return verdicts;
  }
}

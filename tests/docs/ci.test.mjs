// SPDX-License-Identifier: Apache-2.0
// What the GitHub Action and the pre-commit hook run, run here.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { run, temporaryFolder } from '../e2e/lib/program.mjs';

const root = resolve(new URL('../..', import.meta.url).pathname);
const binary = resolve(process.env.PARLEY_BIN || join(root, 'build/dev/gateway/parley'));
const textOf = (name) => readFileSync(join(root, name), 'utf8');

// A folder with a message that breaks a rule, and `parley` beside it.
function project() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'messages'));
  writeFileSync(join(folder, 'messages', 'one.json'), '{"type":"rumour"}\n');
  mkdirSync(join(folder, 'action', 'scripts'), { recursive: true });
  const script = `#!/bin/sh\nexec '${binary}' "$@"\n`; // scripts/run, without the build
  for (const name of ['action/scripts/run', 'action/parley']) {
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test('the GitHub Action annotates what is wrong, and fails', async () => {
  const action = textOf('action.yml');
  const inputs = [...action.split('\nruns:')[0].matchAll(/^ {2}([a-z]+):$/gm)].map(([, name]) => name);
  assert.deepEqual(inputs, ['protocol', 'files', 'options']);
  for (const [, used] of action.matchAll(/inputs\.([a-z]+)/g)) assert.ok(inputs.includes(used), used);
  for (const [, given] of textOf('docs/recipes.md').matchAll(/^ {10}([a-z]+): /gm)) {
    assert.ok(inputs.includes(given), given);
  }

  const command = action.split('run: |\n')[1].replace(/^ {8}/gm, '');
  const folder = project();
  const result = await run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', command], {
    cwd: folder,
    env: {
      GITHUB_ACTION_PATH: join(folder, 'action'),
      PROTOCOL: 'vlp',
      FILES: 'messages',
      OPTIONS: '--strict --stamp',
    },
  });
  assert.equal(result.code, 1, result.stderr);
  assert.match(result.stdout, /^::error file=messages\/one\.json,line=1,col=9,title=VLP-003::/m);
});

test('the hook of pre-commit names the file, and fails', async () => {
  const hooks = textOf('.pre-commit-hooks.yaml');
  const entry = /^ {2}entry: (.*)$/m.exec(hooks)[1];
  const ofHook = /^ {2}files: (.*)$/m.exec(hooks)[1];
  const ofRecipe = /^ {8}files: (.*\$)$/m.exec(textOf('docs/recipes.md'))[1];
  const folder = project();
  const file = 'messages/one.json';
  for (const files of [ofHook, ofRecipe].map((pattern) => new RegExp(pattern))) {
    assert.match(file, files);
    assert.doesNotMatch('messages/README.txt', files);
  }
  const env = { PATH: `${join(folder, 'action')}:${process.env.PATH}` };
  const result = await run('sh', ['-c', `${entry} vlp ${file}`], { cwd: folder, env });
  assert.equal(result.code, 1, result.stderr);
  assert.match(result.stdout, /^messages\/one\.json:1:9: error VLP-003/m);
});

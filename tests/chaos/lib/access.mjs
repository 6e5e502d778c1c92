// SPDX-License-Identifier: Apache-2.0
// What lets clients in, and is changed while they send: a server's certificate, and tokens. Each
// change counts after a SIGHUP, and is waited for.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import { authority } from '../../e2e/lib/certificates.mjs';
import { validate } from '../../e2e/lib/http.mjs';
import { parley } from '../../e2e/lib/parley.mjs';
import { temporaryFolder } from '../../e2e/lib/program.mjs';
import { KINDS } from './texts.mjs';

const NAMES = 'DNS:localhost,IP:127.0.0.1';

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// The serial number of the certificate that a new connection is shown.
function serialShown(server) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port: server.port, ...server.tls }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

export class Access {
  #count = 0; // of certificates and tokens made
  #others = []; // tokens that are nobody's

  static async make() {
    const access = new Access();
    access.authority = await authority();
    Object.assign(access, await access.#issue());
    access.tls = { ca: readFileSync(access.authority.ca) };
    access.tokens = join(temporaryFolder(), 'tokens.json');
    access.headers = bearer((await access.#create()).token);
    return access;
  }

  get args() {
    return ['--tls-cert', this.cert, '--tls-key', this.key, '--tokens', this.tokens];
  }

  #issue() {
    return this.authority.issue(`server${this.#count++}`, NAMES);
  }

  async #token(verb, ...args) {
    const { code, stdout, stderr } = await parley(['token', verb, '--tokens', this.tokens, ...args]);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  async #create() {
    const name = `t${this.#count++}`;
    return { name, token: await this.#token('create', '--name', name, '--allow', 'send:*,read:*') };
  }

  #untilAnswered(run, { name, token }, status) {
    const { server } = run.servers[0];
    const text = KINDS.vlp.text(0, 0);
    return run.until(`token ${name} is answered ${status}`, async () => {
      return (await validate(server, text, { headers: bearer(token) })).status === status;
    });
  }

  async renewCertificate(run) {
    const { server } = run.servers[0];
    const { cert, key } = await this.#issue();
    const before = await serialShown(server);
    copyFileSync(cert, this.cert);
    copyFileSync(key, this.key);
    server.signal('SIGHUP');
    await run.until('the new certificate is shown', async () => {
      return (await serialShown(server)) !== before;
    });
  }

  // One that cannot be used: what was read before goes on.
  async spoilCertificate(run) {
    const { server } = run.servers[0];
    const said = () => server.program.stderr.match(/in use: .*server0\.pem/g)?.length ?? 0;
    const before = said();
    writeFileSync(this.cert, 'half of a certificate');
    server.signal('SIGHUP');
    await run.until('it says what is wrong', () => said() > before);
  }

  async addToken(run) {
    const other = await this.#create();
    this.#others.push(other);
    run.servers[0].server.signal('SIGHUP');
    await this.#untilAnswered(run, other, 200);
  }

  async revokeToken(run) {
    const other = this.#others.pop();
    await this.#token('revoke', other.name);
    run.servers[0].server.signal('SIGHUP');
    await this.#untilAnswered(run, other, 401);
  }
}

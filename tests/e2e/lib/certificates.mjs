// SPDX-License-Identifier: Apache-2.0
// Certificates for a test, made by the openssl program: P-256, for a day.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, temporaryFolder } from './program.mjs';

async function openssl(...args) {
  const result = await run('openssl', args);
  assert.equal(result.code, 0, result.stderr);
}

// An authority of the test's own: { ca, issue }, where `issue(name, names)` makes
// { cert, key } for names such as "DNS:localhost,IP:127.0.0.1". All are paths of PEM files.
export async function authority() {
  const folder = temporaryFolder();
  const [ca, caKey] = [join(folder, 'ca.pem'), join(folder, 'ca.key')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await openssl('req', '-x509', ...key, '-keyout', caKey, '-out', ca, '-days', '1',
    '-subj', '/CN=an authority of a test');
  const issue = async (name, names) => {
    const paths = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
    const [request, more] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
    writeFileSync(more, `subjectAltName=${names}\n`);
    await openssl('req', ...key, '-keyout', paths.key, '-out', request, '-subj', `/CN=${name}`);
    await openssl('x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial',
      '-days', '1', '-extfile', more, '-out', paths.cert);
    chmodSync(paths.key, 0o600);
    return paths;
  };
  return { ca, issue };
}

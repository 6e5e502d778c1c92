// SPDX-License-Identifier: Apache-2.0
// Which nats-server it is: in /readyz, /metrics and the log; and a warning of one that may lose what
// it has acknowledged.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterFleetFor } from './lib/fleet.mjs';
import { get } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';

async function versionOf(server) {
  const { json } = await get(server, '/readyz', { headers: { Accept: 'application/json' } });
  return json.checks.find(({ name }) => name === 'nats').version;
}

// Of 2.10.27 and later ones nothing was found that loses anything.
function isSafe(version) {
  const [major, minor, patch] = version.split('.').map(Number);
  return major > 2 || minor > 10 || (minor === 10 && patch >= 27);
}

describe('the version of nats-server', () => {
  it('is in /readyz, /metrics and the log', async (t) => {
    const server = await parleyFor(t);
    const version = await versionOf(server);
    assert.match(version, /^2\.\d+\.\d+$/);
    await until('the metric has it', async () => {
      const metrics = await metricsOf(server);
      return valueOf(metrics, 'parley_nats_server_info', { version }) === 1;
    });
    const [told, ...others] = server.logged('server.version');
    assert.deepEqual([told.version, Number(told.copies), others], [version, 1, []]);
    assert.deepEqual(server.logged('server.copies'), []);
  });

  it('is warned of where three copies need a newer one', async (t) => {
    const { gateways } = await clusterFleetFor(t);
    const version = await versionOf(gateways[0]);
    const [told] = gateways[0].logged('server.version');
    assert.deepEqual([told.version, Number(told.copies)], [version, 3]);
    const warned = gateways[0].logged('server.copies');
    assert.equal(warned.length, isSafe(version) ? 0 : 1);
  });
});

// SPDX-License-Identifier: Apache-2.0
// The manifests of docker/kubernetes, held against the published schemas of Kubernetes: types,
// required members, and members that do not exist, which kubectl would drop or refuse. And what
// they promise: no privileges, and enough time to drain.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
// The package exports classes that copy what they are given; the validators lie beside them.
const schemas = join(here, 'node_modules/kubernetes-models/_schemas');
const folder = join(root, 'docker/kubernetes');
const parley = process.env.PARLEY_BIN || join(root, 'build/dev/gateway/parley');

function documentsOf(path) {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    assert.deepEqual(document.errors, [], path);
    return document.toJS();
  });
}

const files = readdirSync(folder).map((name) => join(folder, name));
const manifests = files.flatMap(documentsOf);
const ofKind = (kind) => {
  const found = manifests.filter((manifest) => manifest.kind === kind);
  assert.equal(found.length, 1, `one ${kind}`);
  return found[0];
};

// The package has one validator a kind, compiled from the schemas that Kubernetes publishes.
const SCHEMAS = {
  'v1/ConfigMap': 'ApiCoreV1ConfigMap',
  'v1/Secret': 'ApiCoreV1Secret',
  'v1/Service': 'ApiCoreV1Service',
  'apps/v1/Deployment': 'ApiAppsV1Deployment',
  'policy/v1/PodDisruptionBudget': 'ApiPolicyV1PodDisruptionBudget',
  'networking.k8s.io/v1/NetworkPolicy': 'ApiNetworkingV1NetworkPolicy',
};

const validatorOf = async ({ apiVersion, kind }) => {
  const schema = SCHEMAS[`${apiVersion}/${kind}`];
  assert.ok(schema, `a schema of ${apiVersion}/${kind}`);
  return (await import(join(schemas, `IoK8s${schema}.js`))).validate;
};

// A value that remembers which of its members were looked at. A validator looks at each member that
// its schema has, so those that it did not look at are unknown; the schemas themselves allow any.
function watched(value, path, unseen) {
  if (value === null || typeof value !== 'object') return value;
  const children = new Map();
  for (const key of Object.keys(value)) unseen.add(`${path}/${key}`);
  return new Proxy(value, {
    get(target, key) {
      const child = target[key];
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return child;
      unseen.delete(`${path}/${key}`);
      if (!children.has(key)) children.set(key, watched(child, `${path}/${key}`, unseen));
      return children.get(key);
    },
  });
}

async function faultsOf(manifest) {
  const unseen = new Set();
  const validate = await validatorOf(manifest);
  const isValid = validate(watched(manifest, '', unseen));
  const faults = isValid ? [] : validate.errors.map((error) => `${error.instancePath} ${error.keyword}`);
  return [...faults, ...[...unseen].map((path) => `${path} is unknown`)];
}

const pod = () => ofKind('Deployment').spec.template.spec;
const container = () => pod().containers[0];

describe('the manifests', () => {
  for (const manifest of manifests) {
    it(`${manifest.kind} is as its schema says`, async () => {
      assert.deepEqual(await faultsOf(manifest), []);
    });
  }

  it('would not pass with a misspelt member, a wrong type or a missing one', async () => {
    const broken = structuredClone(ofKind('Deployment'));
    broken.spec.template.spec.containers[0].readinesProbe = {};
    broken.spec.template.spec.containers[0].livenessProbe.httpGet.prot = 'http';
    broken.spec.replicas = 'two';
    delete broken.spec.selector;
    const faults = (await faultsOf(broken)).join('\n');
    for (const part of ['readinesProbe is unknown', 'httpGet/prot is unknown', '/spec/replicas type', '/spec required']) {
      assert.ok(faults.includes(part), `${part} in:\n${faults}`);
    }
  });

  it('belong together: labels, ports and names', () => {
    const labels = ofKind('Deployment').spec.template.metadata.labels;
    assert.deepEqual(ofKind('Deployment').spec.selector.matchLabels, labels);
    assert.deepEqual(ofKind('Service').spec.selector, labels);
    assert.deepEqual(ofKind('PodDisruptionBudget').spec.selector.matchLabels, labels);
    assert.deepEqual(ofKind('NetworkPolicy').spec.podSelector.matchLabels, labels);
    const ports = container().ports.map(({ name }) => name);
    assert.ok(ports.includes(ofKind('Service').spec.ports[0].targetPort));
    assert.ok(ports.includes(ofKind('NetworkPolicy').spec.ingress[0].ports[0].port));
    for (const probe of ['readinessProbe', 'livenessProbe']) {
      assert.ok(ports.includes(container()[probe].httpGet.port));
    }
    const [configuration, secrets] = pod().volumes;
    assert.equal(configuration.configMap.name, ofKind('ConfigMap').metadata.name);
    assert.equal(secrets.secret.secretName, ofKind('Secret').metadata.name);
    assert.deepEqual(
      container().volumeMounts.map(({ name }) => name),
      pod().volumes.map(({ name }) => name),
    );
  });

  it('give no privileges', () => {
    assert.equal(pod().automountServiceAccountToken, false);
    const { runAsNonRoot, runAsUser, fsGroup, seccompProfile } = pod().securityContext;
    assert.deepEqual({ runAsNonRoot, runAsUser, fsGroup, seccompProfile }, {
      runAsNonRoot: true,
      runAsUser: 10001, // that of the image
      fsGroup: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(container().securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.match(readFileSync(join(root, 'docker/Dockerfile'), 'utf8'), /--uid 10001 /);
    assert.ok(Object.keys(container().resources.limits).includes('memory'));
  });

  it('do not keep the example of a secret where the folder is applied', () => {
    const secrets = files.filter((file) => documentsOf(file).some(({ kind }) => kind === 'Secret'));
    assert.deepEqual(secrets.map((file) => basename(file)), ['secret.yaml.example']);
  });
});

describe('the configuration', () => {
  // As a pod would have it, with its files here.
  function checked() {
    const scratch = mkdtempSync(join(tmpdir(), 'parley-kubernetes-'));
    const { 'parley.conf': text } = ofKind('ConfigMap').data;
    writeFileSync(join(scratch, 'parley.conf'), text);
    writeFileSync(join(scratch, 'nats-url'), ofKind('Secret').stringData['nats-url']);
    try {
      const env = Object.fromEntries(container().env.map(({ name, value }) => [name, join(scratch, basename(value))]));
      const args = [...container().args, '--check-config'];
      const { stdout, stderr } = spawnSync(parley, args, { env, encoding: 'utf8' });
      // Nothing is wrong but what the pod mounts and this machine has not.
      for (const line of stderr.split('\n').filter(Boolean)) {
        assert.match(line, /the (token file|data folder) /);
      }
      return JSON.parse(stdout);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  }

  it('is accepted by parley, with the URL of NATS from the secret', () => {
    const effective = checked();
    assert.equal(effective.nats, ofKind('Secret').stringData['nats-url']);
    assert.equal(effective.listen, `0.0.0.0:${container().ports[0].containerPort}`);
    assert.equal(effective.reactors, Number(container().resources.limits.cpu));
  });

  it('names files that are mounted, and a data folder that can be written', () => {
    const effective = checked();
    const isBelow = (path, { mountPath }) => path.startsWith(`${mountPath}/`);
    const [configuration, secrets, data] = container().volumeMounts;
    const [, natsUrl] = container().env;
    assert.ok(isBelow(container().env[0].value, configuration));
    assert.ok(isBelow(natsUrl.value, secrets) && isBelow(effective.tokens, secrets));
    assert.ok(isBelow(effective.data, data) && data.readOnly !== true);
    for (const path of [natsUrl.value, effective.tokens]) {
      assert.ok(basename(path) in ofKind('Secret').stringData, path);
    }
  });

  it('leaves time for preStop and the drain', () => {
    const seconds = (text) => Number(/^(\d+)s$/.exec(text)[1]);
    const preStop = Number(container().lifecycle.preStop.exec.command[1]);
    const drain = Math.max(12, seconds(checked()['ack-timeout']) + 2); // gateway/app/serve/serve.c
    assert.ok(pod().terminationGracePeriodSeconds > preStop + drain);
  });
});

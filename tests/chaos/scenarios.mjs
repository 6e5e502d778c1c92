// SPDX-License-Identifier: Apache-2.0
// The table of scenarios, one row each. README.md says what a row has, and how to add one.

// Sets of clients. sends: a message a request, or `lines` of them; retries: the same message (with
// the same ids) until it is accepted; moves: each attempt goes to the next gateway; leaves: hangs up
// in the middle of a batch's results, the first time; isHasty: waits 300 ms for an answer, no more.
const single = (more) => ({ sends: 'single', kind: 'vlp', ...more });
const batch = (more) => ({ sends: 'batch', kind: 'vlp', ...more });

export const CLIENTS = {
  mixed: [
    single({ retries: true, moves: true }),
    single({ retries: true, moves: true, isKeyed: true }),
    single(),
    single({ kind: 'stamped' }),
    batch({ retries: true, moves: true }),
    batch({ retries: true, moves: true, isKeyed: true }),
    batch({ retries: true, leaves: true }),
    batch({ retries: true, leaves: true, isKeyed: true }),
    batch({ kind: 'stamped' }),
  ],
  hasty: [
    single({ retries: true, moves: true, isHasty: true }),
    single({ retries: true, moves: true, isHasty: true, isKeyed: true }),
    single({ isHasty: true }),
    batch({ retries: true, moves: true, isHasty: true }),
    batch({ retries: true, moves: true, isHasty: true, isKeyed: true }),
  ],
  singles: [
    single({ retries: true, moves: true }),
    single({ retries: true, moves: true, isKeyed: true }),
    single({ kind: 'stamped' }),
  ],
  steady: [
    single(),
    single({ isKeyed: true }),
    single({ kind: 'stamped' }),
    batch(),
    batch({ isKeyed: true }),
    batch({ kind: 'stamped' }),
  ],
  tasks: [
    single({ kind: 'tasks', retries: true }),
    single({ kind: 'tasks' }),
    batch({ kind: 'tasks', retries: true }),
  ],
  uneven: [single({ kind: 'uneven' }), batch({ kind: 'uneven' }), single({ retries: true })],
  large: [single({ kind: 'large', retries: true }), single({ kind: 'large' })],
};

// weight: its share of --messages. isShort: part of the short form.
export const SCENARIOS = [
  {
    name: 'nothing goes wrong',
    topology: 'external',
    weight: 6,
    steps: [],
  },
  {
    name: 'nats-server killed and restarted',
    topology: 'external',
    isShort: true,
    rounds: 2,
    steps: [['kill nats'], ['meet'], ['start nats']],
  },
  {
    name: 'nats-server stopped for a while',
    topology: 'external',
    rounds: 2,
    steps: [['stop nats'], ['refuse', 5], ['continue nats']],
  },
  {
    name: 'its own nats-server killed',
    topology: 'embedded',
    isShort: true,
    rounds: 2,
    steps: [['kill own nats']],
  },
  {
    name: 'no packets to nats-server',
    topology: 'cut-off',
    rounds: 2,
    steps: [['cut link'], ['refuse', 5], ['heal link']],
  },
  {
    name: 'cluster: leader killed',
    topology: 'cluster',
    hasTasks: true,
    steps: [['kill leader'], ['accept', 200], ['start leader']],
  },
  {
    name: 'cluster: leader stopped for a while',
    topology: 'cluster',
    hasTasks: true,
    // nats-server 2.9.10: it may go on to store, acknowledge and deliver messages as the leader that
    // it was, at sequences that the new leader has given to others; then it drops them.
    since: '2.10.27',
    steps: [['stop leader'], ['accept', 200], ['continue leader']],
  },
  {
    name: 'cluster: upgraded one by one',
    topology: 'cluster',
    hasTasks: true,
    // As above: after a restart the sequences of some acks are not those of the messages, or a member
    // does not become current again.
    since: '2.10.27',
    steps: [['restart each nats', 200]],
  },
  {
    name: 'cluster: one cut off, then two',
    topology: 'cluster',
    hasTasks: true,
    since: '2.10.27', // nats-server 2.9.10: it may be without a leader for minutes afterwards
    steps: [['cut leader'], ['refuse', 10], ['cut another'], ['meet'], ['heal routes']],
  },
  {
    name: 'cluster: all killed at one instant',
    topology: 'cluster',
    hasTasks: true,
    since: '2.10.27', // nats-server 2.9.10: it may lose what it acknowledged last
    rounds: 2,
    steps: [['kill all'], ['meet'], ['start all']],
  },
  {
    name: 'parley killed, its own nats-server',
    topology: 'embedded',
    isShort: true,
    rounds: 3,
    steps: [['kill parley'], ['meet'], ['start parley']],
  },
  {
    name: 'parley killed, another goes on',
    topology: 'pair',
    rounds: 3,
    steps: [
      ['kill parley', 0],
      ['accept', 100],
      ['start parley', 0],
      ['kill parley', 1],
      ['accept', 100],
      ['start parley', 1],
    ],
  },
  {
    name: 'parley stopped, goes on too late',
    topology: 'pair',
    clients: 'hasty',
    rounds: 2,
    steps: [['stop parley'], ['refuse', 5], ['accept', 20], ['continue parley']],
  },
  {
    name: 'cluster: parley killed',
    topology: 'cluster',
    hasTasks: true,
    rounds: 2,
    steps: [['kill parley'], ['accept', 100], ['start parley']],
  },
  {
    name: 'SIGTERM under load',
    topology: 'external',
    isShort: true,
    rounds: 3,
    steps: [['end parley'], ['start parley']],
  },
  {
    name: 'SIGTERM, its own nats-server',
    topology: 'embedded',
    rounds: 2,
    steps: [['end parley'], ['start parley']],
  },
  {
    name: 'SIGHUP: certificates, tokens change',
    topology: 'external',
    isGuarded: true,
    isSmooth: true,
    clients: 'steady',
    isShort: true,
    rounds: 3,
    steps: [
      ['add token'],
      ['renew certificate'],
      ['accept', 50],
      ['spoil certificate'],
      ['revoke token'],
      ['renew certificate'],
    ],
  },
  {
    name: 'a full disk',
    topology: 'embedded',
    isSmallDisk: true,
    clients: 'large',
    limit: 300, // they are large
    steps: [['fill disk'], ['refuse', 30], ['empty disk']],
  },
  {
    name: 'a stream at its limits',
    topology: 'external',
    rounds: 2,
    steps: [['limit stream', 100], ['refuse', 50], ['unlimit stream']],
  },
  {
    name: 'a stream deleted',
    topology: 'external',
    rounds: 2,
    steps: [['delete stream']],
  },
  {
    name: 'a stream purged before it is read',
    topology: 'external',
    steps: [['stall readers'], ['accept', 3000], ['purge stream'], ['resume readers']],
  },
  {
    name: 'a bucket deleted',
    topology: 'external',
    clients: 'tasks',
    kind: 'tasks',
    rounds: 2,
    steps: [['delete bucket']],
  },
  {
    name: 'max_payload smaller than messages',
    topology: 'external',
    maxPayload: 1048576,
    clients: 'uneven',
    rounds: 2,
    steps: [['max payload', 4096], ['refuse', 20], ['max payload', 1048576]],
  },
  {
    name: 'readers that do not read',
    topology: 'external',
    steps: [['stall readers'], ['accept', 2000], ['resume readers']],
  },
  {
    name: 'clients vanish at every byte',
    topology: 'external',
    clients: 'singles',
    isShort: true,
    steps: [['vanish everywhere']],
  },
  {
    name: 'clients fall silent',
    topology: 'embedded',
    steps: [['fall silent', 200], ['kill parley'], ['start parley'], ['fall silent', 200]],
  },
  {
    name: 'the clock set back and forth',
    topology: 'external',
    hasClock: true,
    rounds: 2,
    steps: [['clock', 86400], ['accept', 200], ['clock', -86400], ['accept', 200], ['clock', 0]],
  },
];

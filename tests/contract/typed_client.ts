// What a client that is generated from openapi.json can say (checked, never run): a draft without
// the members that `stamp=true` fills in, types told apart by `type`, and a task as it was requested.

import type { components, operations } from './openapi.d.ts';

type Schemas = components['schemas'];
type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { 'application/json': infer Json } };
}
  ? Json
  : never;
type Answer<Name extends keyof operations> = operations[Name] extends {
  responses: { 200: { content: { 'application/json': infer Json } } };
}
  ? Json
  : never;

export const request: Body<'sendRoundtable'> = {
  type: 'task.request',
  from: 'tim',
  payload: { task: 'security.briefing' },
};

export const claim: Body<'sendVlp'> = { type: 'claim', sender: 'me', content: 'It works.', confidence: 0.8 };

// @ts-expect-error a request names its task
export const nameless: Body<'sendRoundtable'> = { type: 'task.request', from: 'tim', payload: {} };

// @ts-expect-error no such type
export const unknown: Body<'sendRoundtable'> = { type: 'task.wish', from: 'tim', payload: {} };

export const idOf = (message: Schemas['RoundtableMessage']): string => message.id;

export function taskOf(answer: Answer<'nextTaskRoundtable'>): string | null {
  if ('items' in answer) return null;
  const { task, claim, deadline } = answer;
  if (task.type !== 'task.request') return null;
  return `${task.payload.task} by ${deadline}, claimed as ${claim.seq}`;
}

export function replyOf(answer: Answer<'sendRoundtable'>): string | null {
  return 'reply' in answer ? answer.reply.id : null;
}

// @ts-expect-error only requests of Round Table are answered by a reply
export const replyOfVlp = (answer: Answer<'sendVlp'>) => 'reply' in answer && answer.reply.id;

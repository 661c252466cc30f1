import { Agent, request } from 'node:http';
import type { Kind, MixedRequest } from './mix.js';

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly token: string;
}

/** An answered request. */
export interface Sample {
  readonly kind: Kind;
  /** Milliseconds from sending to the last byte. */
  readonly time: number;
  readonly ok: boolean;
}

/**
 * Opens a connection for each client. Node.js accepts one connection in each turn of its event loop, so a busy server accepts
 * the last connection only after many turns. No sample may include that wait.
 */
export async function connectClients(target: Target, clients: number): Promise<Agent> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  await Promise.all(Array.from({ length: clients }, () => post(target, agent, SMALLEST)));
  return agent;
}

/** Clients that send their next request when the last is answered, over connections that are already open. */
export async function runClients(
  target: Target,
  next: (position: number) => MixedRequest,
  { clients, seconds, agent }: { readonly clients: number; readonly seconds: number; readonly agent: Agent },
): Promise<{ readonly samples: readonly Sample[]; readonly seconds: number }> {
  const samples: Sample[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  let position = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const { kind, body } = next(position++);
        const began = performance.now();
        // A connection that breaks is a failed request.
        const ok = await post(target, agent, body).then(isAnswer, () => false);
        samples.push({ kind, time: performance.now() - began, ok });
      }
    }),
  );
  return { samples, seconds: (performance.now() - start) / 1000 };
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** @param agent undefined uses a new connection */
export function post({ port, path, token }: Target, agent: Agent | undefined, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      'content-length': Buffer.byteLength(body),
    };
    const sent = request(
      { host: '127.0.0.1', port, path, method: 'POST', agent: agent ?? false, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const SMALLEST = JSON.stringify({ query: '{ __typename }' });

/** Errors are at the end of an answer, or its only member. */
function isAnswer({ status, text }: Answer): boolean {
  return status === 200 && !text.includes('"errors":[');
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

import { QUERIES, type Variables } from '../queries.js';

/** One request of the mix, as it is posted. */
export interface MixedRequest {
  readonly kind: Kind;
  readonly body: string;
}

export const KINDS = ['read', 'list', 'nested', 'broad', 'write'] as const;
export type Kind = (typeof KINDS)[number];

/** The share of each kind of request, in percent: a day of a clinic's screens. */
const SHARES: { readonly [Name in Kind]: number } = { read: 50, list: 20, nested: 20, broad: 2, write: 8 };

/**
 * The requests of the mix, repeated without end. Each kind appears according to its share, spread evenly by a fixed step. The
 * order is the same for all variants.
 */
export function mixOf(variables: Variables): (position: number) => MixedRequest {
  const kinds = KINDS.flatMap((kind) => Array.from({ length: SHARES[kind] }, () => kind));
  const bodies = Object.fromEntries(KINDS.map((kind) => [kind, bodiesOf(kind, variables)]));
  return (position) => {
    // 37 and 100 have no common divisor, so a hundred steps meet each kind exactly as often as its share.
    const kind = kinds[(position * 37) % kinds.length]!;
    const choices = bodies[kind]!;
    return { kind, body: choices[position % choices.length]! };
  };
}

/** Only the requests of one kind. */
export function ofKind(mix: (position: number) => MixedRequest, kind: Kind): (position: number) => MixedRequest {
  let position = 0;
  return () => {
    for (;;) {
      const request = mix(position++);
      if (request.kind === kind) return request;
    }
  };
}

/** Every query of the mix once, without the writes. */
export function readsOf(variables: Variables): readonly string[] {
  return KINDS.filter((kind) => kind !== 'write').flatMap((kind) => bodiesOf(kind, variables));
}

function bodiesOf(kind: Kind, variables: Variables): readonly string[] {
  if (kind === 'write') return [JSON.stringify({ query: WRITE, variables: { res: observationOf(variables) } })];
  return QUERIES.filter(({ name }) => NAMES[kind].includes(name)).map(({ text }) => {
    const used = Object.entries(variables).filter(([name]) => text.includes(`$${name}`));
    return JSON.stringify({ query: text, variables: Object.fromEntries(used) });
  });
}

const NAMES: { readonly [Name in Exclude<Kind, 'write'>]: readonly string[] } = {
  read: ['one-patient'],
  list: ['patients'],
  nested: ['reverse', 'reverse-twice', 'references'],
  broad: ['wide'],
};

const WRITE = 'mutation ($res: ObservationInput!) { ObservationCreate(res: $res) { id status } }';

function observationOf({ patient }: Variables): object {
  return {
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '8867-4', display: 'Heart rate' }] },
    subject: { reference: `Patient/${patient}` },
    effectiveDateTime: '2026-03-01T08:30:00Z',
    valueQuantity: { value: 61, unit: 'beats/minute' },
  };
}

import type { AuditEvent } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import {
  AUDIT_LOG_PROJECT,
  type AuditHead,
  createAuditLog,
  MemoryStore,
  type ResourceStore,
  verifyAuditLog,
} from '../../src/index.js';
import type { Write } from '../../src/store.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { chained, GENESIS, logEvent } from '../../src/audit/log/chain.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { cases, SEED } from '../support/chance.js';
import { readOf } from './audit-record.js';
import { eventsIn } from './events-in.js';

type Random = () => number;
type Json = { [name: string]: unknown };

/** Two processes that wrote at the same time, and one after them. */
async function written(store: ResourceStore): Promise<AuditHead[]> {
  const heads = new Map<string, AuditHead>();
  const onHead = (head: AuditHead): void => void heads.set(head.segment, head);
  const [one, other] = [createAuditLog({ store, gather: 0, onHead }), createAuditLog({ store, gather: 0, onHead })];
  for (const id of ['a', 'b', 'c']) await Promise.all([one.audit(readOf(id)), other.audit(readOf(`${id}-too`))]);
  await one.close();
  await other.close();
  const last = createAuditLog({ store, gather: 0, onHead });
  await last.audit(readOf('d', { purpose: 'TREAT', requestId: 'r-1', counts: [{ type: 'Patient', count: 3 }] }));
  await last.close();
  return [...heads.values()];
}

const keyOf = ({ id }: AuditEvent) => ({ project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: id! });
const put = (event: AuditEvent): Write => ({ kind: 'put', key: keyOf(event), resource: event });
const remove = (event: AuditEvent): Write => ({ kind: 'delete', key: keyOf(event) });
const segmentOf = ({ id }: AuditEvent): string => id!.split('.')[0]!;

/** An object inside the event: the event itself, an entity, a coding, a part of the chain. */
function placeIn(value: Json, random: Random): Json {
  // The store itself writes the metadata.
  const { meta: _, ...content } = value;
  const inner = Object.values(content).flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : [one]));
  const objects = inner.filter((one): one is Json => typeof one === 'object' && one !== null);
  return objects.length === 0 || random() < 0.3 ? value : placeIn(oneOf(objects, random), random);
}

/** Changes one member, removes one, or adds one. The id stays, because it is the key. */
function altered(event: AuditEvent, random: Random): AuditEvent {
  const copy = structuredClone(event) as unknown as Json;
  const place = placeIn(copy, random);
  const names = Object.keys(place).filter((name) => !['id', 'resourceType', 'meta'].includes(name));
  const name = names.length === 0 ? undefined : oneOf(names, random);
  const way = below(3, random);
  if (way === 0 || name === undefined) place['comment'] = 'x';
  else if (way === 1) Reflect.deleteProperty(place, name);
  else {
    const value = place[name];
    const others = ['x', 7, null, {}, [null], [[]], { length: 3 }];
    place[name] = typeof value === 'string' && random() < 0.7 ? `${value}x` : oneOf(others, random);
  }
  return copy as unknown as AuditEvent;
}

const ATTACKS: { readonly [name: string]: (events: readonly AuditEvent[], random: Random) => readonly Write[] } = {
  'alters an event': (events, random) => [put(altered(oneOf(events, random), random))],
  'removes an event': (events, random) => [remove(oneOf(events, random))],
  'cuts the end of a segment': (events, random) => {
    const segment = events.filter((one) => segmentOf(one) === segmentOf(oneOf(events, random)));
    return segment.length === 0 ? [remove(events[0]!)] : segment.slice(below(segment.length, random)).map(remove);
  },
  'removes a segment': (events, random) => {
    const name = segmentOf(oneOf(events, random));
    return events.filter((one) => segmentOf(one) === name).map(remove);
  },
  'swaps two events': (events, random) => {
    const [one, other] = [oneOf(events, random), oneOf(events, random)];
    if (one === other) return [remove(one)];
    return [put({ ...one, id: other.id! }), put({ ...other, id: one.id! })];
  },
  'repeats an event': (events, random) => {
    const last = events.at(-1)!;
    const next = String(Number(last.id!.split('.')[1]) + 1).padStart(12, '0');
    return [put({ ...oneOf(events, random), id: `${segmentOf(last)}.${next}` })];
  },
  'moves an event into another segment': (events, random) => {
    const one = oneOf(events, random);
    const others = events.filter((other) => segmentOf(other) !== segmentOf(one));
    return [put({ ...one, id: oneOf(others, random).id! })];
  },
  'renumbers the end of a segment, so that no number is missing': (events, random) => {
    const name = segmentOf(oneOf(events, random));
    const segment = events.filter((one) => segmentOf(one) === name);
    const gone = 1 + below(segment.length - 1, random);
    const kept = segment.filter((_, index) => index !== gone);
    return [remove(segment.at(-1)!), ...kept.map((one, index) => put({ ...one, id: segment[index]!.id! }))];
  },
  'adds an event of its own': (events, random) => {
    const { extension: _, ...event } = oneOf(events, random);
    return [put({ ...event, id: 'added' })];
  },
};

test.each(Object.keys(ATTACKS))('verification with the newest heads detects an attacker who %s', async (name) => {
  const random = createRandom(SEED);
  for (let run = 0; run < cases(200, 12); run += 1) {
    const store = new MemoryStore();
    const heads = await written(store);
    const events = await eventsIn(store);
    expect((await verifyAuditLog({ store, heads })).problems).toEqual([]);
    const writes = ATTACKS[name]!(events, random);
    await store.commit(writes);
    const { intact } = await verifyAuditLog({ store, heads });
    expect([intact, writes.map(({ kind }) => kind)], `seed ${SEED}, run ${run}: ${JSON.stringify(writes)}`).toEqual([
      false,
      writes.map(({ kind }) => kind),
    ]);
  }
});

const SHAPES: readonly unknown[] = ['x', 7, {}, [null], [[]], { length: 3 }];

test.each([
  ...SHAPES.map((shape) => ({ entity: shape })),
  ...SHAPES.map((detail) => ({ entity: [{ name: 'segment-opened', detail }] })),
  ...SHAPES.map((valueString) => ({ entity: [{ name: 'segment-opened', detail: [{ type: 'after', valueString }] }] })),
  ...SHAPES.map((shape) => ({ subtype: shape })),
  ...SHAPES.map((shape) => ({ extension: shape })),
  ...SHAPES.map((extension) => ({ extension: [{ url: OWN_EXTENSIONS.auditChain, extension }] })),
])('an event of another shape is detected, and the log continues: %j', async (change) => {
  const store = new MemoryStore();
  const heads = await written(store);
  const events = await eventsIn(store);
  const [first, last] = [events.find(({ id }) => id!.endsWith('.000000000000'))!, events.at(-1)!];
  for (const event of [first, last]) await store.commit([put({ ...event, ...change } as unknown as AuditEvent)]);
  expect((await verifyAuditLog({ store, heads })).problems.map(({ event }) => event)).toContain(first.id);
  const log = createAuditLog({ store, gather: 0 });
  await log.audit(readOf('e'));
  await log.close();
  expect(await eventsIn(store)).toHaveLength(events.length + 3);
});

test('a segment that was written while the clock was set back cannot vanish', async () => {
  const store = new MemoryStore();
  for (const hour of ['12', '11', '13', '10']) {
    const log = createAuditLog({ store, gather: 0, clock: () => new Date(`2026-01-01T${hour}:00:00Z`) });
    await log.audit(readOf(`at-${hour}`));
    await log.close();
  }
  const events = await eventsIn(store);
  const segments = [...new Set(events.map(segmentOf))];
  expect(segments).toHaveLength(4);
  const texts = segments.map((segment) => JSON.stringify(events.filter((one) => segmentOf(one) === segment)));
  expect(texts.map((text) => /at-(\d\d)/.exec(text)?.[1])).toEqual(['12', '11', '13', '10']);
  for (const segment of segments.slice(0, 3)) {
    const gone = events.filter((one) => segmentOf(one) === segment);
    await store.commit(gone.map(remove));
    expect((await verifyAuditLog({ store })).problems).toEqual([{ kind: 'cut', event: gone.at(-1)!.id }]);
    await store.commit(gone.map(put));
  }
});

test('a forged name of a segment does not give the next segment its instant', async () => {
  for (const name of ['99991231T235959999-1a2b3c4d5e6f', '20261399T050000123-1a2b3c4d5e6f']) {
    const store = new MemoryStore();
    await written(store);
    const made = chained(logEvent('segment-closed', new Date()), { segment: name, sequence: 0, previous: GENESIS });
    await store.commit([put(made.event)]);
    const log = createAuditLog({ store, gather: 0 });
    await log.audit(readOf('e'));
    await log.close();
    expect(JSON.stringify(await eventsIn(store))).toContain('Patient/e');
  }
});

test('a record that arrives just as a commit ends is accepted, too', async () => {
  const store = new MemoryStore();
  const log = createAuditLog({ store, gather: 0 });
  for (let turns = 0; turns < 12; turns += 1) {
    await log.audit(readOf(`first-${turns}`));
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    await log.audit(readOf(`second-${turns}`));
  }
  await log.close();
  expect(await eventsIn(store)).toHaveLength(26);
});

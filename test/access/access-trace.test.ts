import { afterEach, describe, expect, test } from 'vitest';
import { AccessTrace, tracedBy } from '../../src/access/access-trace.js';
import type { AuditFacts, ShownFacts } from '../../src/audit/audit.js';
import type { AnyResource } from '../../src/index.js';
import { deepFreeze, R4 } from '../../src/store.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const BASE = 'https://clinic.example/fhir';

function version(type: string, id: string, versionId: string, elements: object = {}): AnyResource {
  return { resourceType: type, id, meta: { versionId }, ...elements };
}

const ofAnn = { subject: { reference: 'Patient/ann' } };
const ofBob = { subject: { reference: `${BASE}/Patient/bob` } };

const open = (): AccessTrace => new AccessTrace(R4.withBaseUrl(BASE));

describe('the trace of an interaction', () => {
  test('has no facts if nothing was shown', () => {
    expect(open().facts()).toEqual({});
  });

  test('names each version once, in the order shown, with the patients behind them', () => {
    const trace = open();
    const one = version('Observation', 'o', '1', ofAnn);
    for (const resource of [
      one,
      version('Observation', 'o', '2', ofBob),
      one,
      version('Observation', 'o', '1', { subject: { reference: 'Patient/nobody' } }),
      version('Condition', 'o', '1'),
      version('Observation', 'p', '1'),
      { resourceType: 'Basic', id: 'b' } as AnyResource,
    ]) {
      trace.show(resource);
    }
    expect(trace.facts()).toEqual({
      returned: {
        total: 5,
        resources: [
          { type: 'Observation', id: 'o', versionId: '1' },
          { type: 'Observation', id: 'o', versionId: '2' },
          { type: 'Condition', id: 'o', versionId: '1' },
          { type: 'Observation', id: 'p', versionId: '1' },
          { type: 'Basic', id: 'b' },
        ],
      },
      patients: { total: 2, ids: ['ann', 'bob'] },
    });
  });

  test('has the patients of a shared version by the base of each service, even when it is shown again', async () => {
    const shared = deepFreeze(version('Observation', 'o', '1', ofBob));
    const malformed = deepFreeze(version('Observation', 'm', '1', { subject: { reference: 'Patient/a b' } }));
    const patientsAt = async (base: string | undefined): Promise<unknown> => {
      const trace = new AccessTrace(R4.withBaseUrl(base));
      trace.show(shared);
      trace.show(malformed);
      return (await trace.facts()).patients;
    };
    const bob = { total: 1, ids: ['bob'] };
    const bases = [BASE, BASE, undefined, 'https://other.example', BASE];
    expect(await Promise.all(bases.map(patientsAt))).toEqual([bob, bob, undefined, undefined, bob]);
  });

  test('has the patients of written resources, but no version of them', () => {
    const trace = open();
    trace.touch(version('Observation', 'o', '1', ofAnn));
    expect(trace.facts()).toEqual({ patients: { total: 1, ids: ['ann'] } });
  });

  test('includes the patients of masked resources and their copies', () => {
    const trace = open();
    const stored = version('Observation', 'o', '7', ofAnn);
    const masked = version('Observation', 'o', '7');
    trace.origins.set(masked, stored);
    const copy = { resourceType: 'Observation', id: 'o' } as AnyResource;
    trace.copied(copy, masked);
    trace.show(copy);
    expect(trace.facts()).toEqual({
      returned: { total: 1, resources: [{ type: 'Observation', id: 'o', versionId: '7' }] },
      patients: { total: 1, ids: ['ann'] },
    });
    const other = open();
    const plain = version('Observation', 'o', '8', ofBob);
    other.copied(copy, plain);
    other.touch(copy);
    expect(other.facts()).toEqual({ patients: { total: 1, ids: ['bob'] } });
  });

  test('adds up the counts of each type', () => {
    const trace = open();
    trace.count('Patient', 2);
    trace.count('Observation', 0);
    trace.count('Patient', 3);
    expect(trace.facts()).toEqual({
      counts: [
        { type: 'Patient', count: 5 },
        { type: 'Observation', count: 0 },
      ],
    });
  });

  test('names the first 1000 resources and patients, and how many there are', async () => {
    const trace = open();
    for (let index = 0; index < 1001; index += 1) trace.show(version('Patient', `p${index}`, '1'));
    const { returned, patients } = await trace.facts();
    expect([returned?.total, returned?.resources.length, returned?.resources.at(-1)?.id]).toEqual([1001, 1000, 'p999']);
    expect([patients?.total, patients?.ids.length, patients?.ids.at(-1)]).toEqual([1001, 1000, 'p999']);
  });

  test('of many resources is gathered in turns with other work, and of few at once', async () => {
    PACE.turnMs = 0;
    const gather = (count: number): ReturnType<typeof countTurns<ShownFacts>> => {
      const trace = open();
      for (let index = 0; index < count; index += 1) trace.show(version('Patient', `p${index}`, '1'));
      return countTurns(async () => trace.facts());
    };
    const many = await gather(1_200);
    expect(many.result.returned).toMatchObject({ total: 1_200, resources: { length: 1_000 } });
    expect(many.turns).toBeGreaterThanOrEqual(1_200);
    expect((await gather(200)).turns).toBe(0);
  });
});

describe('the facts for a record', () => {
  const store = { model: R4 };

  test('are not collected without an audit', () => {
    const facts: AuditFacts = {};
    expect(tracedBy({ store }, facts)).toBeUndefined();
    expect(facts).toEqual({});
  });

  test('of an unreleased answer name only written resources', () => {
    const facts: AuditFacts = {};
    const trace = tracedBy({ store: { model: R4.withBaseUrl(BASE) }, audit: () => undefined }, facts)!;
    trace.show(version('Patient', 'p', '1'));
    trace.count('Patient', 1);
    trace.touch(version('Observation', 'o', '1', ofBob));
    expect(facts.shown!(true)).toEqual({
      returned: { total: 1, resources: [{ type: 'Patient', id: 'p', versionId: '1' }] },
      patients: { total: 2, ids: ['bob', 'p'] },
      counts: [{ type: 'Patient', count: 1 }],
    });
    const other = tracedBy({ store, audit: () => undefined }, facts)!;
    other.show(version('Patient', 'p', '1'));
    other.count('Patient', 1);
    other.touch(version('Observation', 'o', '1', ofAnn));
    other.touch(version('Observation', 'o', '1', ofBob));
    expect(facts.shown!(false)).toEqual({ patients: { total: 1, ids: ['ann'] } });
  });
});

import { describe, expect, test } from 'vitest';
import type { GuardedWrite } from '../../src/access/contract.js';
import type { AnyResource } from '../../src/index.js';
import { ALL, and, refersTo } from '../../src/search/criteria/criteria.js';
import {
  caller,
  decided,
  expectDecided,
  FEMALE,
  OBSERVED,
  observation,
  OF_WOMEN,
  patient,
  put,
  stateOf,
} from './decisions.js';

describe('a decision depends only on its state and on the answers to its queries', () => {
  const who = caller({ Observation: [OF_WOMEN] });
  const state = stateOf(who, observation());
  const query = {
    project: 'clinic',
    type: 'Patient',
    criteria: and([{ kind: 'id', ids: ['her'] }, FEMALE]),
  };

  test('has the write, its checks and the next state, if granted', () => {
    const { decision, queries } = decided(state, put(observation()), [true, true]);
    expect(queries).toEqual([query, query]);
    const { ready, state: next } = expectDecided(decision);
    expect(ready.map(({ role }) => role)).toEqual(['added', 'own', 'added']);
    expect(ready[1]).toMatchObject({ from: 0, unreadable: false, write: { kind: 'put', expect: { version: '1' } } });
    expect(next.written.get('Observation', 'o')).toMatchObject({ meta: { project: 'clinic' } });
    expect(state.written.isEmpty).toBe(true);
  });

  test('is the same for the same answers', () => {
    const [first, second] = [0, 1].map(() => decided(state, put(observation()), [true, false]));
    expect(second).toEqual(first);
    const { ready } = expectDecided(first!.decision);
    expect(ready[1]).toMatchObject({ unreadable: true });
  });

  test('is a denial for other answers', () => {
    const { decision, queries } = decided(state, put(observation()), [false]);
    expect(queries).toEqual([query]);
    expect(decision).toMatchObject({
      code: 'forbidden',
      message:
        'Not allowed to write this Observation: the access policy does not grant the resource that it would become',
    });
  });

  test('needs no query for a rule without chains', () => {
    const open = stateOf(caller({ Observation: [ALL] }), observation());
    expect(decided(open, put(observation())).queries).toEqual([]);
    expect(expectDecided(decided(open, put(observation())).decision).ready.map(({ role }) => role)).toEqual(['own']);
  });
});

describe('a decision sees the effects of earlier writes of the commit', () => {
  const who = caller({ Patient: [ALL], Observation: [OF_WOMEN] });

  test('a chain leads to the resource as written', () => {
    const state = stateOf(who, patient('male'), observation());
    const { state: next } = expectDecided(decided(state, put(patient('female'))).decision);
    const { decision, queries } = decided(next, put(observation()));
    expect(queries).toEqual([]);
    expect(expectDecided(decision).ready).toHaveLength(3);
  });

  test('which can remove a grant', () => {
    const state = stateOf(who, patient('female'), observation());
    const { state: next } = expectDecided(decided(state, put(patient('male'))).decision);
    expect(decided(next, put(observation())).decision).toMatchObject({ code: 'not-found' });
    const deletion: GuardedWrite = { kind: 'delete', key: { type: 'Patient', id: 'her' } };
    const { state: without } = expectDecided(decided(state, deletion).decision);
    expect(decided(without, put(observation())).decision).toMatchObject({ code: 'not-found' });
  });

  test('a stored version that was replaced is excluded from the query for reverse references', () => {
    const related = caller({ Patient: [OBSERVED], Observation: [ALL] });
    const state = stateOf(related, patient('female'), observation());
    const moved = { ...observation(), subject: { reference: 'Patient/other' } } as AnyResource;
    const { state: next } = expectDecided(decided(state, put(moved)).decision);
    const { queries } = decided(next, put(patient('female')), [false, false]);
    expect(queries[0]).toEqual({
      project: 'clinic',
      type: 'Observation',
      criteria: and([
        refersTo('subject', { type: 'Patient', id: 'her' }),
        { kind: 'not', of: { kind: 'id', ids: ['o'] } },
      ]),
    });
  });

  test('a deletion of a missing resource changes nothing', () => {
    const state = stateOf(who);
    const deletion: GuardedWrite = { kind: 'delete', key: { type: 'Patient', id: 'nobody' } };
    expect(expectDecided(decided(state, deletion).decision)).toEqual({
      ready: [{ role: 'unchanged', from: 0, answer: { kind: 'delete', versionId: null } }],
      state,
    });
    expect(decided(state, { ...deletion, mustExist: true }).decision).toMatchObject({ code: 'not-found' });
  });
});

import { serverCaller, systemCaller } from '../../src/index.js';
import { type Criteria, R4, type SearchQuery } from '../../src/store.js';
import { describe, expect, test } from 'vitest';
import type { GuardedQuery } from '../../src/access/contract.js';
import { restrict, restrictQuery, type SearchRules } from '../../src/access/read/restrict.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { criteriaCost } from '../../src/search/parse/parse-context.js';

const rule = (criteria: Criteria, ...hidden: string[]): AccessRule => ({
  ...unrestrictedRule('test', hidden),
  criteria,
});
const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});
const [code, status, category] = [token('code', 'x'), token('status', 'x'), token('category', 'x')];
const [first, second, third] = [token('identifier', '1'), token('identifier', '2'), token('identifier', '3')];
const noRules: SearchRules = () => null;

describe('a sort', () => {
  const sort = ['birthdate', '_lastUpdated', 'gender'].map((parameter) => ({ parameter, descending: false }));
  const place = { values: ['1970', '2024', 'male'], id: 'p' };
  const asked = (rules: readonly AccessRule[], more: Partial<GuardedQuery> = {}): SearchQuery =>
    restrictQuery(R4, systemCaller('clinic'), { type: 'Patient', criteria: ALL, ...more }, rules, noRules);

  test('has no key that some rule hides, and its positions have none either', () => {
    const rules = [rule(first), rule(second, 'birthDate', 'name.given')];
    expect(asked(rules, { sort, after: place, before: { ...place, id: 'q' }, limit: 3 })).toEqual({
      project: 'clinic',
      type: 'Patient',
      criteria: or([first, second]),
      sort: sort.slice(1),
      after: { values: ['2024', 'male'], id: 'p' },
      before: { values: ['2024', 'male'], id: 'q' },
      limit: 3,
    });
  });

  test('is unchanged if no rule hides the elements that it reads', () => {
    const found = asked([rule(ALL), rule(ALL, 'name')], { sort, after: place, before: place });
    expect(found).toMatchObject({ sort, after: place, before: place });
    expect(asked([rule(ALL)])).toEqual({ project: 'clinic', type: 'Patient', criteria: ALL });
    expect(asked([rule(ALL)], { after: place })).toMatchObject({ after: place });
  });

  test.each(['meta', 'meta.lastUpdated'])('by time is hidden with %s', (field) => {
    expect(asked([rule(ALL, field)], { sort })).toMatchObject({ sort: [sort[0], sort[2]] });
    expect(asked([rule(ALL, 'meta.tag')], { sort })).toMatchObject({ sort });
  });

  test('includes the parts that rules add in its cost', () => {
    const rules = [true, false].map((missing) => rule({ kind: 'missing', parameter: 'name', missing }, 'name'));
    const keys = (count: number) => Array.from({ length: count }, () => sort[0]!);
    expect(asked(rules, { sort: keys(398) }).sort).toHaveLength(398);
    expect(() => asked(rules, { sort: keys(399) })).toThrow(expect.objectContaining({ code: 'too-costly' }));
    const closed = rules.map((one) => ({ ...one, hidden: ['birthDate'] }));
    expect(asked(closed, { sort: keys(401) }).sort).toEqual([]);
  });

  test('of types above projects is asked there', () => {
    const query = { type: 'User', criteria: ALL };
    expect(restrictQuery(R4, serverCaller('clinic'), query, [rule(ALL)], noRules).project).toBe('');
    expect(restrictQuery(R4, serverCaller('clinic'), { ...query, type: 'Patient' }, [rule(ALL)], noRules).project).toBe('clinic'); // prettier-ignore
  });
});

describe('a condition', () => {
  const of = (asked: Criteria, ...rules: AccessRule[]): Criteria =>
    restrict(R4, asked, 'Observation', rules, noRules, undefined, undefined);

  test('is unchanged if rules grant the type as a whole', () => {
    for (const asked of [and([code, status]), or([code, not(status)]), not(and([code, status])), code, ALL]) {
      expect(of(asked, rule(ALL))).toBe(asked);
      expect(of(asked, rule(first), rule(ALL, 'note'))).toBe(asked);
    }
  });

  test('without a rule that answers it matches nothing', () => {
    expect(of(code)).toEqual(NONE);
    expect(of(ALL)).toEqual(NONE);
  });

  test('sees for each of three rules the resource without the fields that this rule hides', () => {
    const rules = [rule(first, 'code'), rule(second), rule(third, 'status')];
    expect(of(and([code, status]), ...rules)).toEqual(and([code, status, second]));
    expect(of(status, ...rules)).toEqual(and([status, or([first, second])]));
    expect(of(not(status), ...rules)).toEqual(or([and([not(status), or([first, second])]), third]));
    expect(of(or([code, status]), ...rules)).toEqual(
      or([and([status, first]), and([or([code, status]), second]), and([code, third])]),
    );
  });

  test('is in the search once if all rules show its elements, and separately if they do not', () => {
    const rules = [rule(first, 'code'), rule(second, 'status')];
    expect(of(or([code, category]), ...rules)).toEqual(or([and([category, or([first, second])]), and([code, second])]));
    expect(of(and([category, or([code, token('method', 'x')])]), ...rules)).toEqual(
      and([category, or([and([token('method', 'x'), or([first, second])]), and([code, second])])]),
    );
  });

  test.each(['meta', 'meta.lastUpdated'])('about the time of change has no match if a rule hides %s', (field) => {
    const since: Criteria = { kind: 'last-updated', test: { kind: 'date', prefix: 'ge', low: 0, high: 1 } };
    expect(of(since, rule(ALL, field))).toEqual(NONE);
    expect(of(since, rule(first, field), rule(second))).toEqual(and([since, second]));
    expect(of(since, rule(first, field, 'code'), rule(second, 'code'))).toEqual(and([since, second]));
    expect(of(since, rule(ALL, 'meta.tag'))).toBe(since);
  });

  test('is refused if it costs too much with the parts that rules add', () => {
    const rules = Array.from({ length: 400 }, (_, n) => rule(not(token('identifier', `${n}`))));
    expect(criteriaCost(of(code, ...rules.slice(1)))).toBe(400);
    expect(() => of(code, ...rules)).toThrow(expect.objectContaining({ code: 'too-costly' }));
  });
});

describe('a chain', () => {
  const based: Criteria = { kind: 'chain', parameter: 'based-on', type: 'CarePlan', of: status };

  test('that leads to resources without a rule matches nothing', () => {
    expect(restrict(R4, based, 'Procedure', [rule(ALL)], noRules, undefined, undefined)).toEqual(NONE);
    expect(restrict(R4, based, 'Procedure', [rule(ALL)], () => [rule(ALL, 'status')], undefined, undefined)).toEqual(
      NONE,
    );
  });

  test('is not removed by a rule that hides a reference of the same name at its end', () => {
    expect(restrict(R4, based, 'Procedure', [rule(ALL)], () => [rule(ALL, 'basedOn')], undefined, undefined)).toEqual(
      based,
    );
    const reverse: Criteria = { kind: 'has', type: 'CarePlan', parameter: 'based-on', of: status };
    expect(restrict(R4, reverse, 'Procedure', [rule(ALL)], () => [rule(ALL, 'basedOn')], undefined, undefined)).toEqual(
      NONE,
    );
    expect(restrict(R4, reverse, 'Procedure', [rule(ALL)], () => [rule(ALL)], undefined, undefined)).toEqual(reverse);
  });

  test('is evaluated once for all rules before it', () => {
    const asked: string[] = [];
    const rulesOf: SearchRules = (type) => {
      asked.push(type);
      return [rule(ALL)];
    };
    const rules = [rule(first, 'code'), rule(second, 'status'), rule(third)];
    restrict(R4, and([or([based, code]), or([based, status])]), 'Procedure', rules, rulesOf, undefined, undefined);
    expect(asked).toEqual(['CarePlan']);
  });
});

import { describe, expect, test } from 'vitest';
import { MemoryStore, systemCaller } from '../../src/index.js';
import { type Criteria, R4 } from '../../src/store.js';
import { explainQuery, rulesAskedAfterRead, rulesAskedAfterSearch } from '../../src/access/explain/explain-query.js';
import { MEMBER_USERS } from '../../src/access/policy/default-rules.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { signedIn, system } from '../repository/harness.js';

const [male, female]: readonly Criteria[] = ['male', 'female'].map((code) => ({
  kind: 'match',
  parameter: 'gender',
  test: { kind: 'token', code },
}));
const chain: Criteria = { kind: 'chain', parameter: 'organization', type: 'Organization', of: ALL };
const rule = (criteria: Criteria, ...hidden: string[]): AccessRule => ({ ...unrestrictedRule('', hidden), criteria });

describe('an explained search', () => {
  async function explained(rules: readonly object[], asked: object = {}): Promise<ReturnType<typeof explainQuery>> {
    const store = new MemoryStore();
    await system(store);
    const caller = await signedIn(store, { rules: rules as never });
    return explainQuery(R4, caller, { type: 'Patient', criteria: ALL, ...asked });
  }
  /** For each part of the criteria that a rule brought in, the rules by their numbers. */
  const origins = (found: ReturnType<typeof explainQuery>): (readonly [Criteria, string[]])[] =>
    [...found.origins].map(([criteria, rules]) => [
      criteria,
      rules.map(({ origin }) => /rule \d/.exec(origin.text)![0]),
    ]);

  test('is not sent to the store if no rule grants a search', async () => {
    for (const rules of [[], [{ resourceType: 'Patient', interaction: ['read'] }]]) {
      const { origins, ...found } = await explained(rules);
      expect(found).toEqual({ query: undefined, rules: [], hiddenSort: [] });
      expect(origins.size).toBe(0);
    }
  });

  test('is not sent to the store if the criteria of the rules cannot match', async () => {
    const found = await explained([{ resourceType: 'Patient', criteria: 'Patient?organization=%ward' }]);
    expect(found.query).toBeUndefined();
    expect(found.rules).toHaveLength(1);
    expect(found.origins.size).toBe(0);
  });

  test('of trusted code is the original search', () => {
    const { query, origins, hiddenSort } = explainQuery(R4, systemCaller('clinic'), {
      type: 'Patient',
      criteria: male!,
    });
    expect(query).toMatchObject({ project: 'clinic', type: 'Patient', criteria: male });
    expect([origins.size, hiddenSort]).toEqual([0, []]);
  });

  test('shows which rules added each condition', async () => {
    const found = await explained([
      { resourceType: 'Patient', criteria: 'Patient?gender=male' },
      { resourceType: 'Patient', criteria: 'Patient?gender=male&active=true' },
    ]);
    const active = found.rules[1]!.criteria as { readonly of: readonly Criteria[] };
    expect(found.query?.criteria).toEqual(or([male!, found.rules[1]!.criteria]));
    expect(origins(found)).toEqual([
      [male, ['rule 1']],
      [and(active.of), ['rule 2']],
      ...active.of.map((part) => [part, ['rule 2']]),
    ]);
  });

  test('shows this for the parts of alternatives, and for rules for types that a chain leads to', async () => {
    const found = await explained(
      [
        { resourceType: 'Patient', criteria: 'Patient?_filter=gender eq male or gender eq female' },
        { resourceType: 'Organization', criteria: 'Organization?active=true' },
        { resourceType: 'Organization', criteria: 'Organization?name=North', interaction: ['read'] },
      ],
      { criteria: chain },
    );
    const [choice, first, second, others] = origins(found);
    expect(choice).toEqual([or([male!, female!]), ['rule 1']]);
    expect([first, second]).toEqual([
      [male, ['rule 1']],
      [female, ['rule 1']],
    ]);
    expect(others![1]).toEqual(['rule 2']);
    expect(origins(found)).toHaveLength(4);
  });

  test('names a rule once, even if it is used several times, and every rule of a shared condition', async () => {
    const rules = [{ resourceType: 'Patient', criteria: 'Patient?gender=male' }, { resourceType: 'Organization' }];
    const back: Criteria = { kind: 'has', parameter: 'organization', type: 'Patient', of: female! };
    const found = await explained(rules, { criteria: and([{ ...chain, of: back }, female!]) });
    expect(origins(found)).toEqual([[male, ['rule 1']]]);
  });

  test('names every rule that shares a condition, such as the context of a Binary', async () => {
    const found = await explained(
      [
        { resourceType: 'Binary', criteria: 'Binary?_id=a' },
        { resourceType: 'Binary', criteria: 'Binary?_id=b' },
        { resourceType: 'Patient', criteria: 'Patient?gender=male' },
      ],
      { type: 'Binary' },
    );
    const shared = origins(found).filter(([, names]) => names.length > 1);
    expect(shared.map(([, names]) => names)).toEqual([['rule 1', 'rule 2']]);
    expect(JSON.stringify(shared)).toContain('security-context');
  });

  test('names the keys of a sort that some rule hides', async () => {
    const sort = ['gender', 'birthdate', '_id'].map((parameter) => ({ parameter, descending: false }));
    const rules = [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }];
    const found = await explained(rules, { sort });
    expect(found.hiddenSort).toEqual(['birthdate']);
    expect(found.query?.sort).toEqual([sort[0], sort[2]]);
    expect((await explained([{ resourceType: 'Patient' }], { sort })).hiddenSort).toEqual([]);
    expect((await explained(rules)).hiddenSort).toEqual([]);
  });
});

describe('the rules that need another store call', () => {
  test('after a read are those with chains', () => {
    const local = [rule(ALL), rule(male!, 'name'), rule(not(female!))];
    const others = [rule(chain), rule(and([male!, chain]), 'name')];
    expect(rulesAskedAfterRead([...local, ...others, rule(MEMBER_USERS)])).toEqual(others);
  });

  test('after a search are those with chains, if rules hide different fields', () => {
    const [plain, hiding] = [rule(chain), rule(male!, 'name')];
    expect(rulesAskedAfterSearch([plain, hiding])).toEqual([plain]);
    expect(rulesAskedAfterSearch([plain, rule(male!), hiding])).toEqual([plain]);
    expect(rulesAskedAfterSearch([rule(chain, 'name', 'gender'), rule(chain, 'name,gender')])).toEqual([]);
  });

  test('after a search are none if all rules hide the same fields, or if one shows all fields of all resources', () => {
    for (const rules of [
      [],
      [rule(chain)],
      [rule(chain, 'name'), rule(male!, 'name')],
      [rule(chain), rule(male!, 'name'), rule(ALL)],
    ]) {
      expect(rulesAskedAfterSearch(rules)).toEqual([]);
    }
    const hidden = rule(ALL, 'name');
    expect(rulesAskedAfterSearch([hidden, rule(chain)])).toHaveLength(1);
    expect(rulesAskedAfterSearch([rule(chain), rule(NONE, 'name')])).toHaveLength(1);
  });
});

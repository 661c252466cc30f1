import { extendDefinitions } from '../../src/definitions.js';
import { type Criteria, R4 } from '../../src/store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { describe, expect, it } from 'vitest';
import { parseParameter } from '../../src/search/parse/parse-parameter.js';
import { refusal } from './harness.js';

const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});

describe('values', () => {
  it('separated by commas or given several times are joined by or', () => {
    expect(parseParameter(R4, 'Patient', 'gender', ['male,female', 'other'])).toEqual({
      kind: 'or',
      of: [token('gender', 'male'), token('gender', 'female'), token('gender', 'other')],
    });
  });

  it('treat an escaped comma as part of the value', () => {
    expect(parseParameter(R4, 'Patient', 'gender', ['a\\,b'])).toEqual(token('gender', 'a,b'));
  });

  it('match nothing if there is no value to match', () => {
    expect(parseParameter(R4, 'Patient', 'gender', [])).toEqual({ kind: 'none' });
  });

  it('of _id and _lastUpdated are criteria of their own', () => {
    expect(parseParameter(R4, 'Patient', '_id', ['a,b', 'c'])).toEqual({ kind: 'id', ids: ['a', 'b', 'c'] });
    expect(parseParameter(R4, 'Patient', '_id:not', ['a'])).toEqual({ kind: 'not', of: { kind: 'id', ids: ['a'] } });
    expect(parseParameter(R4, 'Patient', '_lastUpdated', ['ge1970'])).toEqual({
      kind: 'last-updated',
      test: { kind: 'date', prefix: 'ge', low: 0, high: Date.parse('1971-01-01') },
    });
  });

  it('of composites are parsed component by component, including escapes', () => {
    expect(parseParameter(R4, 'Observation', 'code-value-quantity', ['http://loinc.org|a\\$b$gt5.4||mg'])).toEqual({
      kind: 'composite',
      parameter: 'code-value-quantity',
      tests: [
        { kind: 'token', system: 'http://loinc.org', code: 'a$b' },
        { kind: 'quantity', prefix: 'gt', low: 5.4, high: 5.4, code: 'mg' },
      ],
    });
  });

  it('treat the version of a canonical url as a search for the version', () => {
    expect(parseParameter(R4, 'ValueSet', 'url', ['http://a/v|2'])).toEqual({
      kind: 'and',
      of: [
        { kind: 'match', parameter: 'url', test: { kind: 'uri', comparator: 'equals', value: 'http://a/v' } },
        token('version', '2'),
      ],
    });
  });

  it('are refused if there are more than allowed, with both numbers', () => {
    expect(parseParameter(R4, 'Patient', 'gender', [Array(1_000).fill('a').join()])).toMatchObject({ kind: 'or' });
    const { code, message, details } = refusal(() =>
      parseParameter(R4, 'Patient', 'gender', [Array(1_001).fill('a').join()]),
    );
    expect(code).toBe('too-costly');
    expect(message).toContain('At most 1000 values');
    expect(message).toContain('this has 1001');
    expect(details).toEqual({ max: 1_000, value: 1_001 });
  });

  it('are refused if they are too long', () => {
    expect(refusal(() => parseParameter(R4, 'Patient', 'family', ['a'.repeat(10_001)])).code).toBe('too-costly');
  });
});

describe('modifiers', () => {
  it('negate the whole of :not, including resources without a value', () => {
    expect(parseParameter(R4, 'Patient', 'gender:not', ['male,female'])).toEqual({
      kind: 'not',
      of: { kind: 'or', of: [token('gender', 'male'), token('gender', 'female')] },
    });
  });

  it('test for presence with :missing', () => {
    const missing = { kind: 'missing', parameter: 'gender', missing: true };
    expect(parseParameter(R4, 'Patient', 'gender:missing', ['true'])).toEqual(missing);
    expect(parseParameter(R4, 'Patient', 'gender:missing', ['false'])).toEqual({ ...missing, missing: false });
    expect(parseParameter(R4, 'Patient', '_id:missing', ['false'])).toEqual({ kind: 'all' });
    expect(parseParameter(R4, 'Patient', '_lastUpdated:missing', ['true'])).toEqual({ kind: 'none' });
  });

  it('treat a reference by identifier, to a contained resource or by display as present', () => {
    expect(parseParameter(R4, 'Observation', 'subject:missing', ['true'])).toEqual({
      kind: 'and',
      of: [
        { kind: 'missing', parameter: 'subject', missing: true },
        { kind: 'missing', parameter: 'subject:identifier', missing: true },
        { kind: 'missing', parameter: 'subject:present', missing: true },
      ],
    });
  });

  it('search for an identifier together with its type', () => {
    expect(parseParameter(R4, 'Patient', 'identifier:of-type', ['http://types|MR|12\\|3'])).toEqual({
      kind: 'match',
      parameter: 'identifier:of-type',
      test: { kind: 'token', system: 'http://types', code: 'MR|12|3' },
    });
    for (const value of ['MR|12', 'http://types|MR', '|MR|12', 'http://types||12', 'http://types|MR|', 'a|b|c|d']) {
      expect(refusal(() => parseParameter(R4, 'Patient', 'identifier:of-type', [value])).message).toContain(
        'system|code|value',
      );
    }
    expect(refusal(() => parseParameter(R4, 'Observation', 'code:of-type', ['a|b|c'])).message).toContain(
      'takes ":missing", ":not", ":text", ":in", ":not-in", ":above" or ":below"',
    );
  });

  it('search for the identifier of a reference as a token', () => {
    expect(parseParameter(R4, 'Observation', 'subject:identifier', ['http://mrn|1'])).toEqual({
      kind: 'match',
      parameter: 'subject:identifier',
      test: { kind: 'token', system: 'http://mrn', code: '1' },
    });
  });

  it('leave concepts of value sets and hierarchies to a terminology', () => {
    const expansion = (request: object): object => ({
      kind: 'match',
      parameter: 'code',
      test: { kind: 'concept', request },
    });
    const inSet = expansion({ kind: 'value-set', url: 'http://vs|1' });
    expect(parseParameter(R4, 'Observation', 'code:in', ['http://vs|1'])).toEqual(inSet);
    expect(parseParameter(R4, 'Observation', 'code:not-in', ['http://vs|1'])).toEqual({ kind: 'not', of: inSet });
    for (const kind of ['above', 'below']) {
      expect(parseParameter(R4, 'Observation', `code:${kind}`, ['http://loinc.org|1'])).toEqual(
        expansion({ kind, system: 'http://loinc.org', code: '1' }),
      );
      expect(refusal(() => parseParameter(R4, 'Observation', `code:${kind}`, ['1'])).code).toBe('invalid');
    }
  });

  it.each([
    ['Patient', 'family:text'],
    ['Encounter', 'location:below'],
    ['Location', 'near'],
    ['Patient', '_text'],
  ])('%s %s is unsupported', (type, name) => {
    expect(refusal(() => parseParameter(R4, type, name, ['x'])).code).toBe('unsupported');
  });

  it.each([
    ['Patient', 'family:not', '":missing", ":exact" or ":contains"'],
    ['Patient', 'gender:exact', '":missing", ":not", ":text", ":in", ":not-in", ":above" or ":below"'],
    ['Patient', 'birthdate:exact', '":missing"'],
    ['Patient', '_id:text', '":missing" or ":not"'],
    ['Observation', 'code-value-quantity:missing', 'none'],
    ['Observation', 'subject:Nothing', '":missing", ":not", ":identifier" or :[resource type]'],
    ['Patient', 'gender:type', '":missing", ":not", ":text", ":in", ":not-in", ":above" or ":below"'],
    ['Patient', 'gender:constructor', '":missing", ":not", ":text", ":in", ":not-in", ":above" or ":below"'],
    ['Patient', 'gender:', '":missing", ":not", ":text", ":in", ":not-in", ":above" or ":below"'],
  ])('%s %s is invalid, and the message names the valid ones', (type, name, fitting) => {
    const { code, message } = refusal(() => parseParameter(R4, type, name, ['x']));
    expect(code).toBe('invalid');
    expect(message).toContain(`takes ${fitting}`);
  });

  it('refuse a target type that the parameter cannot point to', () => {
    const { code, message } = refusal(() => parseParameter(R4, 'Observation', 'subject:Practitioner', ['1']));
    expect(code).toBe('invalid');
    expect(message).toContain('Device, Group, Location or Patient');
  });
});

describe('without modifiers', () => {
  it.each(['family:exact', 'subject.name', 'subject:Patient.name', '_has:Observation:patient:code', '_has'])(
    'refuses %s',
    (name) => {
      const { code, message } = refusal(() => parseParameter(R4, 'Patient', name, ['x'], { modifiers: false }));
      expect(code).toBe('invalid');
      expect(message).toContain('not supported here');
    },
  );

  it('still reads plain parameters', () => {
    expect(parseParameter(R4, 'Patient', 'gender', ['male'], { modifiers: false })).toEqual(token('gender', 'male'));
  });
});

describe('unknown names', () => {
  it.each([
    ['Patient', 'famly', 'Unknown search parameter "famly" of Patient. Did you mean "family"?'],
    ['Patient', 'birth_date', 'Unknown search parameter "birth_date" of Patient. Did you mean "birthdate"'],
    ['Patient', 'zzzzzzzzzzzzzzzzzzzz', 'Unknown search parameter "zzzzzzzzzzzzzzzzzzzz" of Patient.'],
    ['Patient', '__proto__', 'Unknown search parameter "__proto__" of Patient.'],
    ['Patient', 'constructor', 'Unknown search parameter "constructor" of Patient.'],
    ['Patient', '_sort', 'Unknown search parameter "_sort" of Patient.'],
    ['Patien', 'name', 'Unknown resource type "Patien". Did you mean "Patient"?'],
    ['__proto__', 'name', 'Unknown resource type "__proto__".'],
  ])('%s %s', (type, name, beginning) => {
    const { code, message } = refusal(() => parseParameter(R4, type, name, ['x']));
    expect(code).toBe('invalid');
    expect(message.startsWith(beginning)).toBe(true);
  });
});

describe('values that leave nothing', () => {
  it.each([
    ['Patient', 'family', '-'],
    ['Patient', 'family:contains', '%'],
    ['Patient', 'name', ' '],
    ['Observation', 'code:text', '\u0301'],
    ['Observation', 'code-value-string', 'c$-'],
    ['Observation', 'value-string', '\u200b'],
    ['Patient', 'birthdate', 'ge'],
    ['Patient', 'birthdate', ' '],
    ['Patient', 'organization', ''],
    ['Patient', 'organization', ' '],
    ['Patient', 'gender', '|'],
    ['Patient', 'gender:not', ''],
    ['Observation', 'value-quantity', '||kg'],
    ['Observation', 'value-quantity', ' '],
    ['RiskAssessment', 'probability', '-'],
    ['ValueSet', 'url', ''],
    ['ValueSet', 'url:below', ''],
    ['Observation', 'code:in', ' '],
    ['Observation', 'code:not-in', ' '],
  ])('are refused: %s?%s=%j', (type, name, value) => {
    expect(refusal(() => parseParameter(R4, type, name, [value])).code).toBe('invalid');
    expect(refusal(() => parseParameter(R4, type, name, [value, 'x,y'])).code).toBe('invalid');
  });

  it('are refused in a search by words', async () => {
    const model = await extendDefinitions(R4, { words: true });
    expect(refusal(() => parseParameter(model, 'Organization', 'name', ['- .'])).code).toBe('invalid');
  });

  it('are refused in a list', () => {
    expect(refusal(() => parseSearch(R4, 'Patient', { family: [] })).code).toBe('invalid');
  });

  it.each(['2020-01-01T00:00:00.1234Z', '2020-01-01T00:00:00.123000Z', '2020-01-01T00:00:00.1234567891+01:00'])(
    'are not dates finer than what the index keeps, which are refused too: %s',
    (date) => {
      for (const prefix of ['', 'ne', 'gt', 'le', 'ap']) {
        expect(refusal(() => parseParameter(R4, 'Observation', 'date', [prefix + date])).code).toBe('invalid');
        expect(refusal(() => parseParameter(R4, 'Patient', '_lastUpdated', [prefix + date])).code).toBe('invalid');
      }
      expect(refusal(() => parseSearch(R4, 'Observation', { _filter: `date ge ${date}` })).code).toBe('invalid');
    },
  );
});

describe('words of names and addresses', () => {
  const testsOf = (criteria: Criteria): readonly unknown[] =>
    criteria.kind === 'or' ? criteria.of.flatMap(testsOf) : criteria.kind === 'match' ? [criteria.test] : [];

  it.each([
    ['main springfield', 'springfield main'],
    ['main 12', '12 main'],
    ['alice zoe smith', 'alice smith zoe'],
  ])('begin with the one that the fewest may have: %s', (text, words) => {
    const tests = testsOf(parseParameter(R4, 'Patient', 'address', [text]));
    expect(tests).toContainEqual({ kind: 'string', comparator: 'words-start-with', text: words });
    // A name of too many words has its parts as they are.
    expect(tests).toContainEqual({ kind: 'string', comparator: 'starts-with', text });
  });

  it('can repeat', () => {
    const criteria = parseSearch(R4, 'Patient', { _filter: 'name eq "Alice Alice"' }).criteria;
    expect(testsOf(criteria)).toContainEqual({ kind: 'string', comparator: 'words-equal', text: 'alice' });
  });
});

describe('chains', () => {
  const name = (text: string, parameter: string): Criteria => ({
    kind: 'match',
    parameter,
    test: { kind: 'string', comparator: parameter === 'name' ? 'starts-with' : 'words-start-with', text },
  });

  it('follow a reference to the named type', () => {
    expect(parseParameter(R4, 'Observation', 'subject:Patient.name', ['Eve'])).toEqual({
      kind: 'chain',
      parameter: 'subject',
      type: 'Patient',
      of: name('eve', 'name:words'),
    });
  });

  it('try every target type that has the parameter', () => {
    expect(parseParameter(R4, 'Observation', 'subject.name', ['Eve'])).toEqual({
      kind: 'or',
      // A Device is found by "device-name".
      of: ['Group', 'Location', 'Patient'].map((type) => ({
        kind: 'chain',
        parameter: 'subject',
        type,
        of: name('eve', type === 'Patient' ? 'name:words' : 'name'),
      })),
    });
  });

  it('can have several levels and a modifier at the end', () => {
    expect(parseParameter(R4, 'DiagnosticReport', 'result.subject:Patient.family:exact', ['Eve'])).toEqual({
      kind: 'chain',
      parameter: 'result',
      type: 'Observation',
      of: {
        kind: 'chain',
        parameter: 'subject',
        type: 'Patient',
        of: { kind: 'match', parameter: 'family', test: { kind: 'string', comparator: 'exact', text: 'Eve' } },
      },
    });
  });

  it('follow references backwards with _has, also nested', () => {
    expect(
      parseParameter(R4, 'Patient', '_has:Observation:patient:_has:AuditEvent:entity:agent-name', ['Eve']),
    ).toEqual({
      kind: 'has',
      type: 'Observation',
      parameter: 'patient',
      of: {
        kind: 'has',
        type: 'AuditEvent',
        parameter: 'entity',
        of: {
          kind: 'match',
          parameter: 'agent-name',
          test: { kind: 'string', comparator: 'starts-with', text: 'eve' },
        },
      },
    });
  });

  it('continue from _has by a chain, and from a chain by _has', () => {
    expect(parseParameter(R4, 'Patient', '_has:Observation:patient:encounter.status', ['planned'])).toMatchObject({
      kind: 'has',
      of: { kind: 'chain', type: 'Encounter', of: token('status', 'planned') },
    });
    expect(parseParameter(R4, 'Encounter', 'subject:Patient._has:Observation:patient:code', ['x'])).toMatchObject({
      kind: 'chain',
      of: { kind: 'has', type: 'Observation', of: token('code', 'x') },
    });
  });

  it.each([
    ['Patient', 'family.name', 'of type string'],
    ['Observation', 'subject:Patient.nme', 'Did you mean "name"'],
    ['Observation', 'subject:Practitioner.name', 'cannot point to Practitioner'],
    ['Observation', 'subject.nme', '"nme" of Device, Group, Location or Patient, which "subject" of Observation can'],
    ['Observation', 'subject.nme', 'Did you mean "name"'],
    ['Observation', 'subject.organization.nme', 'Unknown search parameter "nme" of Organization. Did you mean "name"'],
    ['Bundle', 'composition.tpe', 'Unknown search parameter "tpe" of Composition. Did you mean "type"'],
    ['ConceptMap', 'source-uri.nme', 'of ValueSet'],
    ['Observation', 'subject.birthdate.x', 'of type date'],
    ['Observation', 'focus.name', 'can point to any type'],
    ['Patient', '_has:Observation:code', 'look like'],
    ['Patient', '_has', 'look like'],
    ['Patient', '_has:Observation:encounter:code', 'cannot point to Patient'],
    ['Patient', '_has:Observatio:patient:code', 'Did you mean "Observation"'],
    ['Observation', 'subject.', 'Unknown search parameter ""'],
    ['Observation', '.name', 'Unknown search parameter ""'],
  ])('%s %s is invalid', (type, path, reason) => {
    const { code, message } = refusal(() => parseParameter(R4, type, path, ['x']));
    expect(code).toBe('invalid');
    expect(message).toContain(reason);
  });

  it('report a malformed value rather than the types that lack the parameter', () => {
    const { code, message } = refusal(() => parseParameter(R4, 'Observation', 'subject.birthdate', ['x']));
    expect(code).toBe('invalid');
    expect(message).toContain('takes a date');
  });

  it('are bounded in length and in the number of targets', () => {
    const long = refusal(() => parseParameter(R4, 'Encounter', `${'part-of.'.repeat(9)}status`, ['planned']));
    expect(long).toMatchObject({ code: 'too-costly', details: { max: 8, value: 9 } });
    expect(parseParameter(R4, 'Encounter', `${'part-of.'.repeat(8)}status`, ['planned'])).toMatchObject({
      kind: 'chain',
    });
    // Two types of order have a requester, which may be of six types: 12 × 900 comparisons.
    const many = [Array(900).fill('a').join()];
    const wide = refusal(() => parseParameter(R4, 'DiagnosticReport', 'based-on.requester.identifier', many));
    expect(wide.code).toBe('too-costly');
  });
});

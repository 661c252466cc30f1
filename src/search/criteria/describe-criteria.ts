import type { Criteria } from './criteria.js';
import type {
  DateTest,
  ExpansionRequest,
  NumberTest,
  QuantityTest,
  ReferenceTest,
  TokenTest,
  ValueTest,
} from './value-test.js';

/**
 * Criteria as one line of human-readable text: `gender = male and (family starts with "kulas" or _id = 1, 2)`.
 *
 * @param mark decorates the text of a node, for example to highlight it
 */
export function describeCriteria(criteria: Criteria, mark: Mark = (_, text) => text): string {
  return mark(criteria, describeNode(criteria, mark));
}

type Mark = (criteria: Criteria, text: string) => string;

function describeNode(criteria: Criteria, mark: Mark): string {
  switch (criteria.kind) {
    case 'all':
      return 'everything';
    case 'none':
      return 'nothing';
    case 'and':
    case 'or':
      return criteria.of.map((one) => inside(one, mark)).join(` ${criteria.kind} `);
    case 'not':
      return `not ${inside(criteria.of, mark)}`;
    case 'id':
      return `_id = ${criteria.ids.join(', ')}`;
    case 'last-updated':
      return `_lastUpdated ${describeTest(criteria.test)}`;
    case 'match':
      return `${criteria.parameter} ${describeTest(criteria.test)}`;
    case 'missing':
      return `${criteria.parameter} is ${criteria.missing ? 'missing' : 'present'}`;
    case 'composite':
      return `${criteria.parameter} (${criteria.tests.map(describeTest).join(' with ')})`;
    case 'chain':
      return `${criteria.parameter} leads${criteria.reach === undefined ? '' : ` ${criteria.reach}`} to ${criteria.type} where (${describeCriteria(criteria.of, mark)})`;
    case 'has':
      return `${criteria.parameter} of ${criteria.type} leads here where (${describeCriteria(criteria.of, mark)})`;
  }
}

/** Parenthesizes compound criteria inside `and`, `or` and `not`. */
function inside(criteria: Criteria, mark: Mark): string {
  const composed = criteria.kind === 'and' || criteria.kind === 'or';
  const text = describeNode(criteria, mark);
  return mark(criteria, composed ? `(${text})` : text);
}

function describeTest(test: ValueTest): string {
  switch (test.kind) {
    case 'concept':
      return describeRequest(test.request);
    case 'token':
      return `${test.negated === true ? '!=' : test.below === true ? 'is below' : '='} ${describeToken(test)}`;
    case 'text':
      return `has the text ${JSON.stringify(test.text)}`;
    case 'string':
      return `${STRING_COMPARATORS[test.comparator]} ${JSON.stringify(test.text)}`;
    case 'date':
      return `${test.prefix} ${describeDates(test)}`;
    case 'number':
      return `${test.prefix} ${describeNumbers(test)}`;
    case 'quantity':
      return `${test.prefix} ${describeNumbers(test)}${describeUnit(test)}`;
    case 'reference':
      return `${test.negated === true ? '!=' : test.version === 'below' ? 'is below' : '='} ${describeReference(test)}`;
    case 'uri':
      return `${URI_COMPARATORS[test.comparator]} ${test.value}`;
  }
}

function describeRequest(request: ExpansionRequest): string {
  if (request.kind === 'value-set') return `is in ${request.url}`;
  return `${request.kind === 'below' ? 'is' : 'subsumes'} ${request.system}|${request.code}${request.kind === 'below' ? ' or below it' : ''}`;
}

const STRING_COMPARATORS = {
  'starts-with': 'starts with',
  'ends-with': 'ends with',
  contains: 'contains',
  equals: '=',
  'not-equals': '!=',
  exact: 'is exactly',
  'words-start-with': 'has words that start with',
  'words-equal': 'has the words',
} as const;

const URI_COMPARATORS = {
  equals: '=',
  'not-equals': '!=',
  canonical: '=',
  'not-canonical': '!=',
  below: 'is below',
  above: 'is above',
  'starts-with': 'starts with',
  'ends-with': 'ends with',
  contains: 'contains',
} as const;

function describeToken({ system, noSystem, code, except }: TokenTest): string {
  if (except !== undefined) return `${system ?? ''}| but ${except.length === 0 ? 'nothing' : except.join(', ')}`;
  if (noSystem === true) return `|${code ?? ''}`;
  return system === undefined ? (code ?? 'anything') : `${system}|${code ?? ''}`;
}

function describeDates({ low, high }: DateTest): string {
  return low === high ? instant(low) : `${instant(low)} to ${instant(high)}`;
}

/** Midnight is printed as a date; values outside the range of Date in milliseconds. */
function instant(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString().replace(/T00:00:00\.000Z$/, '');
}

function describeNumbers({ low, high }: Pick<NumberTest, 'low' | 'high'>): string {
  return low === high ? String(low) : `${low} to ${high}`;
}

function describeUnit({ system, code }: QuantityTest): string {
  if (code === undefined && system === undefined) return '';
  return system === undefined ? ` ${code}` : ` ${system}|${code ?? ''}`;
}

function describeReference({ types, id, url }: ReferenceTest): string {
  if (url !== undefined) return url;
  const names = types ?? ['any type'];
  return names.map((type) => `${type}/${id ?? '(any)'}`).join(' or ');
}

import { nested, type HostileDocument } from './hostile-document.js';

/** Expressions that would run forever, fill the memory, or access the outside. */
export const HOSTILE_EXPRESSIONS: readonly HostileDocument[] = [
  ofText('a pattern of nested repetitions', "code.text.matches('^(a+)+$b')", 'answered'),
  ofText('a pattern of overlapping alternatives', "code.text.matches('^(a|aa)+$b')", 'answered'),
  ofText(
    'a replacement by a pattern of nested repetitions',
    "code.text.replaceMatches('(a*)*b', '').length() > 1",
    'too-costly',
  ),
  ofText('a pattern with 1,000 times 1,000 repetitions', "code.text.matches('(a{1,1000}){1,1000}')", 'invalid'),
  ofText('a pattern with a look-behind', "code.text.matches('(?<=a+)b')", 'invalid'),
  ofText('a replacement that grows', `code.text${".replace('a', 'aaaaaaaaaa')".repeat(8)}.length() > 1`, 'too-costly'),
  ofText(
    'a replacement by pattern that grows',
    `code.text${".replaceMatches('a', '$0$0$0$0$0$0')".repeat(8)}.length() > 1`,
    'too-costly',
  ),
  ofText('a text that doubles by encoding', `code.text${".encode('hex')".repeat(20)}.length() > 1`, 'too-costly'),
  ofText(
    'a text that doubles by escaping',
    `code.coding.display${".escape('json')".repeat(30)}.length() > 1`,
    'too-costly',
  ),
  ofText(
    'a text that doubles by joining',
    nested(40, 'select($this.toChars() | ', 'code.text', ").join('')").concat('.length() > 1'),
    'too-costly',
  ),
  ofText(
    'a text that doubles by adding',
    `${nested(28, '(', 'code.text', ' & code.text & code.text)')}.length() > 1`,
    'too-costly',
  ),
  ofText(
    '100,000 characters, three times over',
    'code.text.toChars().select(%resource.code.text.toChars()).count() > 1',
    'too-costly',
  ),
  ofText('a decimal with a million places', '1.1.lowBoundary(1000000) > 1', 'answered'),
  ofText('a number rounded to a million places', '1.1.round(1000000) > 1', 'answered'),
  ofText('a power of a power', '10.power(10).power(10).power(10).power(10) > 1', 'answered'),
  ofText('a number of 4,000 digits', `${'9'.repeat(4000)} > 1`, 'answered'),
  ofText('a text that becomes a number of many digits', "code.text.replace('a', '9').toInteger() > 1", 'answered'),
  ofText('a quantity of many digits', "code.text.replace('a', '9').toQuantity() > 1", 'answered'),

  onTree('a repetition of itself', 'repeat(item | $this).count() > 1', 'too-costly'),
  onTree('an endless repetition of growing texts', "select('a').repeat($this & 'a').count() > 1", 'too-costly'),
  onTree(
    'an endless repetition of growing numbers',
    'item.first().select(1).repeat($this + 1).count() > 1',
    'too-costly',
  ),
  onTree(
    'descendants of descendants',
    'descendants().select(descendants()).select(descendants()).count() > 1',
    'too-costly',
  ),
  onTree(
    'descendants of everything, for each of them',
    'descendants().where(%resource.descendants().count() > 1).count() > 1',
    'too-costly',
  ),
  onTree(
    'a union of everything with itself',
    'descendants().select(%resource.descendants() | %resource.descendants()).count() > 1',
    'too-costly',
  ),
  onTree('everything compared with everything', 'descendants().intersect(descendants()).count() > 1', 'too-costly'),
  onTree(
    'a collection that doubles',
    `item${'.combine(%resource.descendants().combine(%resource.descendants()))'.repeat(30)}.count() > 1`,
    'too-costly',
  ),
  onTree(
    'a collection that multiplies by selection',
    `item${'.select($this.combine($this).combine($this))'.repeat(30)}.count() > 1`,
    'too-costly',
  ),
  onTree(
    'an aggregate that grows',
    "descendants().aggregate($total & $total & 'aaaaaaaaaa', '').length() > 1",
    'too-costly',
  ),
  onTree(
    'sorting by everything',
    'descendants().select(linkId).sort($this.length() + %resource.descendants().count()).count() > 1',
    'invalid',
  ),
  onTree('a network address', "'http://internal/'.memberOf('http://internal/')", 'unsupported'),
  onTree('a terminology server', '%terminologies.exists()', 'unsupported'),
  onTree('a log entry', "item.trace('x').exists()", 'unsupported'),
  onTree('names that objects inherit', 'constructor.constructor.exists()', 'invalid'),
  onTree('the prototype', '`__proto__`.`toString`.exists()', 'invalid'),
  onTree('a variable that objects inherit', '%constructor.exists()', 'invalid'),
  onTree('4,000 parentheses', nested(2000, '(', 'true', ')'), 'too-costly'),
  onTree('2,000 negations', `${'-'.repeat(2000)}1 < 1`, 'too-costly'),
  onTree('4,000 characters of function calls', `item${'.first()'.repeat(490)}.exists()`, 'answered'),
  onTree('4,000 characters of alternatives', `${'true or '.repeat(490)}true`, 'answered'),
  onTree('65 numbers', `${'1 + '.repeat(64)}1 > 1`, 'too-costly'),
  onTree('1,000 numbers to sort by', `item.sort(${'-1, '.repeat(1000)}-1).exists()`, 'too-costly'),
  onTree('digits of 100 texts, dates and names', `${"a1 = '1, 1' or b2 = @2012 or ".repeat(100)}true`, 'answered'),
  onTree('95,000 characters', `${'1 + '.repeat(23_000)}1 > 1`, 'too-costly'),

  {
    name: '80 different expressions',
    make: () => ({
      query: `{ Patient(id: 1) { ${Array.from({ length: 80 }, (_, index) => `a${index}: name(fhirpath: "given.count() > ${index}") { id }`).join(' ')} } }`,
    }),
    outcome: 'answered',
  },
  {
    name: '700 different expressions',
    make: () => ({
      query: `{ Patient(id: 1) { ${Array.from({ length: 700 }, (_, index) => `a${index}: name(fhirpath: "given.count() > ${index}") { id }`).join(' ')} } }`,
    }),
    outcome: 'too-costly',
  },
  {
    name: '150 searches whose expressions cannot be parsed',
    make: () => ({
      query: `{ ${Array.from({ length: 150 }, (_, index) => `a${index}: PatientList(_count: 1, fhirpath: "${'name and '.repeat(80)}${index} and") { id }`).join(' ')} }`,
    }),
    outcome: 'too-costly',
  },
  {
    name: '300 different paths for @slice',
    make: () => ({
      query: `{ Patient(id: 1) { ${Array.from({ length: 300 }, (_, index) => `a${index}: name @slice(path: "given.count() + ${index}") { id }`).join(' ')} } }`,
    }),
    outcome: 'too-costly',
  },
  {
    name: '300 different expressions that the library must run',
    make: () => ({
      query: `{ Patient(id: 1) { ${Array.from({ length: 300 }, (_, index) => `a${index}: name(fhirpath: "given.aggregate($total + ${index}, 0) > (1 + ${index}).sqrt()") { id }`).join(' ')} } }`,
    }),
    outcome: 'too-costly',
  },
  {
    name: 'work below the bound of one evaluation, for each of 300 resources',
    make: () => ({
      query:
        '{ ObservationList(fhirpath: "(1|2|3|4|5|6|7|8|9).select((1|2|3|4|5|6|7|8|9).select((1|2|3|4|5|6|7|8|9).select($this * 2))).count() > 1") { id } }',
    }),
    outcome: 'too-costly',
  },
  {
    name: 'work below the bound of one evaluation, for each of 20 items under 100 aliases',
    make: () => ({
      query: `{ Patient(id: 1) { ${Array.from({ length: 100 }, (_, index) => `a${index}: name(fhirpath: "(1|2|3|4|5|6|7|8|9).select((1|2|3|4|5|6|7|8|9).select((1|2|3|4|5|6|7|8|9).select($this * 2))).count() > 1") { id }`).join(' ')} } }`,
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a path for @slice that would run for ever',
    make: () => ({
      query: '{ Questionnaire(id: "tree") { item @slice(path: "select(1).repeat($this + 1).count()") { linkId } } }',
    }),
    outcome: 'too-costly',
  },
];

function ofText(name: string, expression: string, outcome: HostileDocument['outcome']): HostileDocument {
  return searching('Basic', name, expression, outcome);
}

function onTree(name: string, expression: string, outcome: HostileDocument['outcome']): HostileDocument {
  return searching('Questionnaire', name, expression, outcome);
}

function searching(
  type: string,
  name: string,
  expression: string,
  outcome: HostileDocument['outcome'],
): HostileDocument {
  const query = `query($path: String) { ${type}List(fhirpath: $path) { id } }`;
  return { name: `FHIRPath: ${name}`, make: () => ({ query, variables: { path: expression } }), outcome };
}

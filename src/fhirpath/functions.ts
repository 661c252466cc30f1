type Arity = readonly [fewest: number, most: number];

/** The allowed functions with their minimum and maximum number of parameters. See https://hl7.org/fhirpath/N1/. */
export const FUNCTIONS: ReadonlyMap<string, Arity> = new Map<string, Arity>([
  ...entries([0, 0], [
    ...['abs', 'allFalse', 'allTrue', 'anyFalse', 'anyTrue', 'avg', 'ceiling', 'children', 'convertsToBoolean'],
    ...['convertsToDate', 'convertsToDateTime', 'convertsToDecimal', 'convertsToInteger', 'convertsToLong'],
    ...['convertsToQuantity', 'convertsToString', 'convertsToTime', 'count', 'dateOf', 'dayOf', 'descendants'],
    ...['distinct', 'empty', 'exp', 'first', 'floor', 'getValue', 'hasValue', 'hourOf', 'isDistinct', 'last', 'length'],
    ...['ln', 'lower', 'max', 'millisecondOf', 'min', 'minuteOf', 'monthOf', 'not', 'now', 'resolve', 'secondOf'],
    ...['single', 'sqrt', 'sum', 'tail', 'timeOf', 'timeOfDay', 'timezoneOffsetOf', 'toBoolean', 'toChars', 'toDate'],
    ...['toDateTime', 'toDecimal', 'toInteger', 'toLong', 'toString', 'toTime', 'today', 'trim', 'truncate', 'type'],
    ...['upper', 'yearOf'],
  ]),
  ...entries([0, 1], ['exists', 'highBoundary', 'join', 'lowBoundary', 'round', 'toQuantity']),
  ...entries([1, 1], [
    ...['all', 'as', 'combine', 'comparable', 'contains', 'decode', 'encode', 'endsWith', 'escape', 'exclude'],
    ...['extension', 'indexOf', 'intersect', 'is', 'lastIndexOf', 'log', 'ofType', 'power', 'repeat', 'select', 'skip'],
    ...['split', 'startsWith', 'subsetOf', 'supersetOf', 'take', 'unescape', 'union', 'where'],
  ]),
  ...entries([1, 2], ['aggregate', 'defineVariable', 'matches', 'matchesFull', 'substring']),
  ...entries([2, 2], ['replace', 'replaceMatches']),
  ...entries([2, 3], ['iif']),
  ...entries([1, 16], ['coalesce']),
  ...entries([0, 16], ['sort']),
]); // prettier-ignore

/** Functions that exist but are not supported, with the reason. */
export const REFUSED_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ...entries('it needs a terminology server', ['memberOf', 'subsumes', 'subsumedBy', 'weight', 'ordinal']),
  ...entries('it needs profiles', ['conformsTo', 'elementDefinition', 'slice', 'checkModifiers']),
  ...entries('it writes to the log', ['trace']),
  ...entries('it is for invariants of narratives', ['htmlChecks', 'htmlchecks']),
  ...entries('it is not part of FHIRPath', ['pathname']),
]);

function entries<const Value>(value: Value, names: readonly string[]): [string, Value][] {
  return names.map((name) => [name, value]);
}

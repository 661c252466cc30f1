import type { Container } from '../../fhir/container.js';
import { BEGINNING_OF_TIME, type DateInterval, END_OF_TIME, parseDate } from '../../fhir/date.js';
import type { ElementDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parseReference, withoutVersion } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { QuantityValue } from './index-entry.js';
import { identifierToken, indexToken } from './index-token.js';
import type { IndexWriter, ValueIndexer } from './index-writer.js';

/**
 * Chooses the indexer for values of a FHIR type under a type of search parameter.
 *
 * See the tables of https://hl7.org/fhir/R4/search.html#ptypes.
 *
 * @param type name of the FHIR type: `CodeableConcept`, `dateTime`.
 * @param element the element, if known: its binding gives the system of a `code`.
 * @returns undefined if the parameter type cannot index such values.
 */
export function valueIndexer(
  model: FhirModel,
  parameterType: SearchParameterType,
  type: string,
  element?: ElementDefinition,
): ValueIndexer | undefined {
  switch (parameterType) {
    case 'token':
      return indexToken(type, element?.codeSystem);
    case 'string':
      return indexString(type);
    case 'date':
      return indexDate(type);
    case 'number':
      return indexNumber(type);
    case 'quantity':
      return indexQuantity(type);
    case 'reference':
      return indexReference(model, type);
    case 'uri':
      return indexUri;
    case 'composite':
    case 'special':
      return undefined;
  }
}

function indexUri(value: unknown, writer: IndexWriter): void {
  if (isText(value)) writer.add({ kind: 'uri', value });
}

/**
 * Date values. See https://hl7.org/fhir/R4/search.html#date.
 *
 * A Period without start or end is open on that side; without both it has no value. A Timing spans its events and
 * bounds.
 */
function indexDate(type: string): ValueIndexer | undefined {
  return DATE_INDEXERS.get(type);
}

const DATE_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['date', indexDateText],
  ['dateTime', indexDateText],
  ['instant', indexDateText],
  // Medplum indexes some dates that are declared as strings; other text is skipped.
  ['string', indexDateText],
  ['Period', (value, writer) => addInterval(periodInterval(value), writer)],
  ['Timing', (value, writer) => addInterval(timingInterval(value), writer)],
]);

function indexDateText(value: unknown, writer: IndexWriter): void {
  addInterval(textInterval(value), writer);
}

function textInterval(value: unknown): DateInterval | undefined {
  return typeof value === 'string' ? parseDate(value) : undefined;
}

function periodInterval(period: unknown): DateInterval | undefined {
  if (!isJsonObject(period)) return undefined;
  const start = textInterval(period.start);
  const end = textInterval(period.end);
  if (start === undefined && end === undefined) return undefined;
  const low = start?.low ?? BEGINNING_OF_TIME;
  const high = end?.high ?? END_OF_TIME;
  return low < high ? { low, high } : undefined;
}

function timingInterval(timing: unknown): DateInterval | undefined {
  if (!isJsonObject(timing)) return undefined;
  const bounds = isJsonObject(timing.repeat) ? periodInterval(timing.repeat.boundsPeriod) : undefined;
  let low = bounds?.low ?? Infinity;
  let high = bounds?.high ?? -Infinity;
  for (const event of Array.isArray(timing.event) ? (timing.event as readonly unknown[]) : []) {
    const interval = textInterval(event);
    if (interval === undefined) continue;
    low = Math.min(low, interval.low);
    high = Math.max(high, interval.high);
  }
  return low < high ? { low, high } : undefined;
}

function addInterval(interval: DateInterval | undefined, writer: IndexWriter): void {
  if (interval !== undefined) writer.add({ kind: 'date', low: interval.low, high: interval.high });
}

const NAME_PARTS = ['family', 'given', 'prefix', 'suffix', 'text'];
const ADDRESS_PARTS = ['line', 'city', 'district', 'state', 'postalCode', 'country', 'text'];

/**
 * String values: the text itself, or each part of a HumanName or Address, and all words of these together (under
 * `code:words`, see `nameWords`). See https://hl7.org/fhir/R4/search.html#string.
 */
function indexString(type: string): ValueIndexer | undefined {
  if (type === 'HumanName') return partsIndexer(NAME_PARTS);
  if (type === 'Address') return partsIndexer(ADDRESS_PARTS);
  return indexText;
}

function partsIndexer(names: readonly string[]): ValueIndexer {
  return (value, writer) => {
    if (!isJsonObject(value)) return;
    const parts = names.flatMap((name) => value[name]).filter(isText);
    if (parts.length > 0) writer.addName(parts);
  };
}

function indexText(value: unknown, writer: IndexWriter): void {
  if (isText(value)) writer.addText(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * Reference values: `Type/id` of local references, the URL of others and of canonicals, the identifier of logical ones
 * (under `code:identifier`), the number of a contained resource (under `code#Type`), and a presence marker for
 * references with none of these (under `code:present`).
 *
 * See https://hl7.org/fhir/R4/search.html#reference.
 */
function indexReference(model: FhirModel, type: string): ValueIndexer | undefined {
  return REFERENCE_INDEXERS.get(type) ?? (model.isA(type, 'Resource') ? indexResource : undefined);
}

const REFERENCE_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['Reference', indexReferenceElement],
  ['canonical', indexCanonical],
  ['uri', indexUrl],
  ['url', indexUrl],
]);

function indexReferenceElement(reference: unknown, writer: IndexWriter): void {
  if (!isJsonObject(reference)) return;
  const { reference: text, identifier } = reference;
  const literal = typeof text === 'string' && indexLiteral(text, writer.containerOf(reference), writer);
  const token = identifier === undefined ? undefined : identifierToken(identifier);
  if (token !== undefined) writer.addBeside(':identifier', token);
  if (
    !literal &&
    token === undefined &&
    SIGNS.some((name) => isText(reference[name]) || isJsonObject(reference[name]))
  ) {
    writer.markPresent();
  }
}

/** The members that make a Reference count as present. */
const SIGNS = ['reference', 'identifier', 'display', 'type'] as const;

/** @returns true if the reference was indexed */
function indexLiteral(text: string, container: Container, writer: IndexWriter): boolean {
  const target = container.resolve(text);
  if (target?.kind === 'local') {
    writer.add({ kind: 'reference', type: target.type, id: target.id });
    return true;
  }
  const inside =
    target?.kind === 'inside' && text !== '#' ? writer.insides.add(target.resource, target.container) : undefined;
  if (inside !== undefined) writer.link(inside);
  return addUrl(container.absolute(text), writer);
}

/** @returns false for text that is not an absolute URL */
function addUrl(text: string | undefined, writer: IndexWriter): boolean {
  const parsed = text === undefined ? undefined : parseReference(text);
  const own = parsed?.kind === 'foreign' ? parseReference(parsed.url, writer.container.baseUrl) : undefined;
  if (own?.kind === 'local') writer.add({ kind: 'reference', type: own.type, id: own.id });
  else if (parsed?.kind === 'foreign') writer.add({ kind: 'reference', url: withoutVersion(parsed.url) });
  else if (parsed?.kind === 'urn') writer.add({ kind: 'reference', url: parsed.urn });
  else return false;
  return true;
}

/**
 * Indexes a resource in a Bundle (`Bundle.entry.resource`) as a reference to it, by the `fullUrl` of its entry. It is no
 * resource of this service, whatever its id.
 */
function indexResource(resource: unknown, writer: IndexWriter): void {
  if (!isJsonObject(resource) || typeof resource.resourceType !== 'string') return;
  const container = writer.container.within(resource);
  const inside = writer.insides.add(resource, container);
  if (inside !== undefined) writer.link(inside);
  if (!addUrl(container.url, writer)) writer.markPresent();
}

/** A canonical names a resource wherever it is, so an absolute one is indexed as written, whatever its base. */
function indexCanonical(value: unknown, writer: IndexWriter): void {
  if (isText(value) && parseReference(value)?.kind === 'foreign') writer.add({ kind: 'reference', url: value });
  else indexUrl(value, writer);
}

/** A URL is indexed as written, unless it leads to a resource of this service or is a fragment. */
function indexUrl(value: unknown, writer: IndexWriter): void {
  if (typeof value !== 'string' || value === '') return;
  const target = writer.container.resolve(value);
  if (target?.kind === 'local') writer.add({ kind: 'reference', type: target.type, id: target.id });
  else if (value.startsWith('#') || (target?.kind === 'nowhere' && target.reason === 'base')) writer.markPresent();
  else writer.add({ kind: 'reference', url: writer.container.absolute(value) });
}

/** Represents an open end. */
const UNBOUNDED = 1e300;

const CURRENCIES = 'urn:iso:std:iso:4217';

/** Number values: numbers and Ranges. See https://hl7.org/fhir/R4/search.html#number. */
function indexNumber(type: string): ValueIndexer | undefined {
  return NUMBER_INDEXERS.get(type);
}

/**
 * Quantity values. See https://hl7.org/fhir/R4/search.html#quantity.
 *
 * A comparator widens the value: `< 5` is everything up to 5. Money uses its currency as code, a Range the unit of its
 * ends, SampledData its origin.
 */
function indexQuantity(type: string): ValueIndexer | undefined {
  return QUANTITY_INDEXERS.get(type);
}

const NUMBER_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ...['integer', 'positiveInt', 'unsignedInt', 'decimal'].map((type): [string, ValueIndexer] => [type, indexPoint]),
  ['Range', indexNumberRange],
]);

const QUANTITY_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ...['Quantity', 'Age', 'Duration', 'Count', 'Distance'].map((type): [string, ValueIndexer] => [type, indexMeasure]),
  ['Money', indexMoney],
  ['Range', indexQuantityRange],
  ['SampledData', (value, writer) => isJsonObject(value) && indexMeasure(value.origin, writer)],
]);

function indexPoint(value: unknown, writer: IndexWriter): void {
  if (isNumber(value)) writer.add({ kind: 'number', low: value, high: value });
}

function indexNumberRange(range: unknown, writer: IndexWriter): void {
  const ends = rangeEnds(range);
  if (ends !== undefined) writer.add({ kind: 'number', low: ends.low, high: ends.high });
}

function indexMeasure(quantity: unknown, writer: IndexWriter): void {
  if (!isJsonObject(quantity) || !isNumber(quantity.value)) return;
  const { value, comparator } = quantity;
  const low = comparator === '<' || comparator === '<=' ? -UNBOUNDED : value;
  const high = comparator === '>' || comparator === '>=' ? UNBOUNDED : value;
  writer.add(quantityValue(low, high, text(quantity.system), text(quantity.code), text(quantity.unit)));
}

function indexMoney(money: unknown, writer: IndexWriter): void {
  if (!isJsonObject(money) || !isNumber(money.value)) return;
  const currency = text(money.currency);
  writer.add(quantityValue(money.value, money.value, currency && CURRENCIES, currency, currency));
}

function indexQuantityRange(range: unknown, writer: IndexWriter): void {
  const ends = rangeEnds(range);
  if (ends === undefined) return;
  const { low, high, unit } = ends;
  writer.add(quantityValue(low, high, text(unit.system), text(unit.code), text(unit.unit)));
}

/** A Range with at least one end, in order; `unit` is the end with the unit. */
function rangeEnds(range: unknown): { low: number; high: number; unit: JsonObject } | undefined {
  if (!isJsonObject(range)) return undefined;
  const low = isJsonObject(range.low) && isNumber(range.low.value) ? range.low : undefined;
  const high = isJsonObject(range.high) && isNumber(range.high.value) ? range.high : undefined;
  const unit = low ?? high;
  if (unit === undefined) return undefined;
  const from = (low?.value as number | undefined) ?? -UNBOUNDED;
  const to = (high?.value as number | undefined) ?? UNBOUNDED;
  return from <= to ? { low: from, high: to, unit } : undefined;
}

function quantityValue(
  low: number,
  high: number,
  system: string | undefined,
  code: string | undefined,
  unit: string | undefined,
): QuantityValue {
  return {
    kind: 'quantity',
    low,
    high,
    ...(system === undefined ? {} : { system }),
    ...(code === undefined ? {} : { code }),
    ...(unit === undefined ? {} : { unit }),
  };
}

/** JSON.parse reads 1e999 as Infinity; Infinity and NaN are not values. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

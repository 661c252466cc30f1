import { oncePer } from '../../platform/collections.js';
import type { ElementDefinition } from '../model/definition-types.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import type { PrimitiveProblem } from './findings.js';
import type { ObjectRule } from './walk.js';
import { checkXhtml } from './xhtml.js';

/** @returns undefined for a well-formed value. */
export type PrimitiveCheck = (value: unknown) => PrimitiveProblem | undefined;

/** @returns the check of a primitive type; see https://hl7.org/fhir/R4/datatypes.html#primitive. */
export function primitiveCheck(type: string): PrimitiveCheck {
  const check = CHECKS.get(type);
  if (check === undefined) throw new Error(`No check for the primitive type ${type}`);
  return check;
}

const MAX_CHARACTERS = 1024 * 1024;
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Tabs, line breaks and everything from U+0020 up. The specification says that strings SHOULD NOT contain other control
 * characters; they are rejected because XML cannot represent them.
 */
const TEXT = /^[\t\n\r\x20-\uffff]+$/;
/** White space is that of XML Schema: a no-break space is a character like others. */
const CODE = /^[^ \t\n\r]+(?:[ \t\n\r][^ \t\n\r]+)*$/;
const YEAR = String.raw`(?!0000)\d{4}`;
const MONTH = String.raw`(?:0[1-9]|1[0-2])`;
const DAY = String.raw`(?:0[1-9]|[12]\d|3[01])`;
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?`;
const ZONE = String.raw`(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))`;

const date = dated(`^${YEAR}(?:-${MONTH}(?:-${DAY})?)?$`, 'a date (YYYY, YYYY-MM or YYYY-MM-DD) that exists');
const dateTime = dated(
  `^${YEAR}(?:-${MONTH}(?:-${DAY}(?:T${TIME}${ZONE})?)?)?$`,
  'a dateTime that exists: a date, or a date with time to the second and zone',
);
const instant = dated(
  `^${YEAR}-${MONTH}-${DAY}T${TIME}${ZONE}$`,
  'an instant that exists: a date with time to the second and zone',
);
const uri = pattern(/^[^ \t\n\r]+$/, 'a URI: a string that is not empty and has no white space');

const CHECKS: ReadonlyMap<string, PrimitiveCheck> = new Map([
  ['base64Binary', checkBase64],
  ['boolean', oneKind('boolean', 'true or false')],
  ['canonical', uri],
  [
    'code',
    pattern(CODE, 'a code: a string that is not empty, without white space at its ends and single blanks inside'),
  ],
  ['date', date],
  ['dateTime', dateTime],
  ['decimal', oneKind('number', 'a JSON number')],
  ['id', pattern(/^[A-Za-z0-9\-.]{1,64}$/, 'an id: 1 to 64 letters, digits, hyphens and full stops')],
  ['instant', instant],
  ['integer', integer(-(2 ** 31))],
  ['markdown', characters],
  ['oid', pattern(/^urn:oid:[0-2](?:\.(?:0|[1-9]\d*))+$/, 'an OID (urn:oid:1.2.3)')],
  ['positiveInt', integer(1)],
  ['string', characters],
  ['time', pattern(new RegExp(`^${TIME}$`), 'a time of day to the second, without zone (hh:mm:ss)')],
  ['unsignedInt', integer(0)],
  ['uri', uri],
  ['url', uri],
  [
    'uuid',
    pattern(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
      'a UUID in lower case (urn:uuid:…)',
    ),
  ],
  ['xhtml', checkXhtml],
]);

function pattern(form: RegExp, expectation: string): PrimitiveCheck {
  const problem = { code: 'value', expectation };
  return (value) => (typeof value === 'string' && form.test(value) ? undefined : problem);
}

function oneKind(kind: 'boolean' | 'number', expectation: string): PrimitiveCheck {
  const problem = { code: 'value', expectation };
  return (value) => (typeof value === kind ? undefined : problem);
}

function integer(smallest: number): PrimitiveCheck {
  const problem = { code: 'value', expectation: `a whole JSON number from ${smallest} to ${MAX_INTEGER}` };
  return (value) =>
    Number.isInteger(value) && (value as number) >= smallest && (value as number) <= MAX_INTEGER ? undefined : problem;
}

const NO_TEXT = { code: 'value', expectation: 'a string that is not empty and has no control characters' };
const LONG_TEXT = { code: 'too-long', expectation: `a string of at most ${MAX_CHARACTERS} characters` };

function characters(value: unknown): PrimitiveProblem | undefined {
  if (typeof value !== 'string') return NO_TEXT;
  if (value.length > MAX_CHARACTERS) return LONG_TEXT;
  return TEXT.test(value) ? undefined : NO_TEXT;
}

function dated(form: string, expectation: string): PrimitiveCheck {
  const problem = { code: 'value', expectation };
  const expression = new RegExp(form);
  return (value) => (typeof value === 'string' && expression.test(value) && dayExists(value) ? undefined : problem);
}

const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** @param text begins with a well-formed date */
function dayExists(text: string): boolean {
  const day = Number(text.slice(8, 10));
  const month = Number(text.slice(5, 7));
  if (day < 29) return true;
  if (month !== 2 || day !== 29) return day <= DAYS_OF_MONTH[month - 1]!;
  const year = Number(text.slice(0, 4));
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

const NO_BASE64 = { code: 'value', expectation: 'base64: groups of four characters, padded at the end only' };

/**
 * Checks groups of four characters, white space between groups only. A loop instead of a regular expression: attachments
 * are megabytes long and would exhaust the engine's backtracking stack.
 */
export function checkBase64(value: unknown): PrimitiveProblem | undefined {
  if (typeof value !== 'string') return NO_BASE64;
  // Most texts have digits only, and to search for anything else takes a third of the time of the loop.
  if (value !== '' && value.length % 4 === 0 && !NO_DIGIT.test(value)) return undefined;
  let digits = 0;
  let padding = 0;
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index);
    if (unit === 61) padding++;
    else if (isDigit(unit) && padding === 0) digits++;
    else if (!isWhiteSpace(unit) || (digits + padding) % 4 !== 0) return NO_BASE64;
  }
  return digits > 0 && padding <= 2 && (digits + padding) % 4 === 0 ? undefined : NO_BASE64;
}

const NO_DIGIT = /[^A-Za-z0-9+/]/;

function isDigit(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 43 ||
    unit === 47
  );
}

function isWhiteSpace(unit: number): boolean {
  return unit === 32 || unit === 9 || unit === 10 || unit === 13;
}

/** The codes of a required binding, if they can be enumerated. */
export function bindingCodes({ codes }: ElementDefinition): ReadonlySet<string> | undefined {
  return codes && codeSet(codes);
}

const codeSet = oncePer((codes: readonly string[]): ReadonlySet<string> => new Set(codes));

/** Describes the codes of a binding for a message; lists them if there are few. */
export function expectedCodes(codes: ReadonlySet<string>): string {
  return codes.size <= 12
    ? `one of ${[...codes].join(', ')}`
    : `one of the ${codes.size} codes of its required binding`;
}

/**
 * A Coding, or one of the codings of a CodeableConcept, must be of the value set; text alone is not enough.
 * See https://hl7.org/fhir/R4/terminologies.html#required.
 */
export function bindingRule(element: ElementDefinition): ObjectRule | undefined {
  const codes = bindingCodes(element);
  if (codes === undefined) return undefined;
  const { codeSystem: system } = element;
  const isMember = (coding: JsonObject): boolean =>
    typeof coding.code === 'string' && codes.has(coding.code) && (system === undefined || coding.system === system);
  const expectation = `${expectedCodes(codes)}${system === undefined ? '' : `, with the system ${system}`}`;
  return (value, walk) => {
    const codings = element.type === 'Coding' ? [value] : value.coding;
    if (Array.isArray(codings) && codings.some((coding) => isJsonObject(coding) && isMember(coding))) return;
    walk.findings.error('code-invalid', `${element.name} must hold ${expectation}`);
  };
}

import { FhirError, type OutcomeIssue } from '../../fhir/error.js';
import { andMore } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parseReference, referenceTo } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** A reference to a resource of the project, as it is kept. */
export interface LocalReference {
  reference: string;
  display?: string;
}

/** Longest text of one field, in UTF-16 code units. */
const MAX_TEXT = 256;

/** Reads the fields of a request body and collects all faults, so that they are reported at once. */
export class BodyReader {
  readonly issues: OutcomeIssue[] = [];

  constructor(private readonly model: FhirModel) {}

  fault(path: string, diagnostics: string, code = 'invalid'): undefined {
    this.issues.push({ code, diagnostics, expression: [path] });
    return undefined;
  }

  /** @throws FhirError `invalid` - something was wrong; one issue per field */
  assertGood(what: string): void {
    const [first] = this.issues;
    if (first === undefined) return;
    throw new FhirError('invalid', `${what}: ${first.diagnostics}${andMore(this.issues)}`, { issues: this.issues });
  }

  /** Unknown fields are rejected: a misspelled field must not count as absent. */
  known(object: JsonObject, path: string, names: readonly string[]): void {
    for (const name of Object.keys(object)) {
      if (names.includes(name)) continue;
      const at = join(path, name.slice(0, 64));
      this.fault(at, `${at} is not known here; known are ${names.join(', ')}`, 'structure');
    }
  }

  flag(object: JsonObject, name: string, path: string): boolean | undefined {
    const value = own(object, name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.fault(join(path, name), `${join(path, name)} must be true or false`);
  }

  /** A non-empty text without control characters, trimmed. */
  text(object: JsonObject, name: string, path: string, maxLength = MAX_TEXT): string | undefined {
    const value = own(object, name);
    if (value === undefined) return undefined;
    const at = join(path, name);
    if (typeof value !== 'string') return this.fault(at, `${at} must be a string`);
    if (value.length > maxLength)
      return this.fault(at, `${at} may be ${maxLength} characters long, not ${value.length}`);
    const text = value.trim();
    if (text === '') return this.fault(at, `${at} must not be empty`);
    if (/\p{Cc}/u.test(text)) return this.fault(at, `${at} must not hold control characters`);
    return text;
  }

  requiredText(object: JsonObject, name: string, path: string, maxLength = MAX_TEXT): string {
    if (own(object, name) === undefined) this.fault(join(path, name), `${join(path, name)} is required`, 'required');
    return this.text(object, name, path, maxLength) ?? '';
  }

  /** A `Type/id` or a Reference to one of the types; any type when none is named. */
  reference(value: unknown, path: string, types: readonly string[] = []): LocalReference | undefined {
    const text = isJsonObject(value) ? own(value, 'reference') : value;
    const parsed = typeof text === 'string' ? parseReference(text) : undefined;
    const fits =
      parsed?.kind === 'local' &&
      parsed.version === undefined &&
      this.model.isResourceType(parsed.type) &&
      (types.length === 0 || types.includes(parsed.type));
    if (!fits)
      return this.fault(path, `${path} must be a reference to ${types.join(' or ') || 'a resource'}, as Type/id`);
    const display = isJsonObject(value) ? own(value, 'display') : undefined;
    const reference = referenceTo(parsed.type, parsed.id);
    return typeof display === 'string' && display !== '' ? { reference, display } : { reference };
  }

  list(value: unknown, path: string, maxLength = 100): readonly unknown[] {
    if (!Array.isArray(value)) {
      this.fault(path, `${path} must be a list`);
      return [];
    }
    if (value.length <= maxLength) return value;
    this.fault(path, `${path} may have ${maxLength} items, not ${value.length}`, 'too-long');
    return [];
  }
}

/** An own property; null counts as absent. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

export function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** @throws FhirError `invalid` - the body is not a JSON object */
export function assertBody(body: unknown, what: string): JsonObject {
  if (isJsonObject(body)) return body;
  throw new FhirError('invalid', `${what} needs a body: a JSON object`);
}

import type { JsonObject } from '../../fhir/resource.js';
import type { Output } from './run.js';
import { LONG_TEXT } from './spending.js';

/** Reads and writes the member of an object that has a name. */
interface Member {
  get(object: JsonObject): unknown;
  set(object: Output, value: unknown): void;
}

/**
 * The member of a name.
 *
 * PERF (wide): JavaScript reads a member by a constant name in a fraction of the time that a computed name takes, so the names
 * of most queries have their own functions. That takes a third off the copy of a wide selection. Names outside the list
 * are only slower. The list is written out, because strict content security policies forbid code generated at run time
 * (`new Function`).
 */
export function memberOf(name: string): Member {
  return Object.hasOwn(MEMBERS, name) ? MEMBERS[name]! : otherMember(name);
}

function otherMember(name: string): Member {
  return {
    get: (object) => object[name],
    set: (object, value) => {
      object[name] = value;
    },
  };
}

/** By the names of objects and lists. */
export const MEMBERS: { readonly [name: string]: Member } = {
  address: { get: (o) => o['address'], set: (o, value) => void (o['address'] = value) },
  category: { get: (o) => o['category'], set: (o, value) => void (o['category'] = value) },
  code: { get: (o) => o['code'], set: (o, value) => void (o['code'] = value) },
  coding: { get: (o) => o['coding'], set: (o, value) => void (o['coding'] = value) },
  component: { get: (o) => o['component'], set: (o, value) => void (o['component'] = value) },
  contact: { get: (o) => o['contact'], set: (o, value) => void (o['contact'] = value) },
  encounter: { get: (o) => o['encounter'], set: (o, value) => void (o['encounter'] = value) },
  identifier: { get: (o) => o['identifier'], set: (o, value) => void (o['identifier'] = value) },
  interpretation: { get: (o) => o['interpretation'], set: (o, value) => void (o['interpretation'] = value) },
  meta: { get: (o) => o['meta'], set: (o, value) => void (o['meta'] = value) },
  name: { get: (o) => o['name'], set: (o, value) => void (o['name'] = value) },
  patient: { get: (o) => o['patient'], set: (o, value) => void (o['patient'] = value) },
  performer: { get: (o) => o['performer'], set: (o, value) => void (o['performer'] = value) },
  period: { get: (o) => o['period'], set: (o, value) => void (o['period'] = value) },
  result: { get: (o) => o['result'], set: (o, value) => void (o['result'] = value) },
  subject: { get: (o) => o['subject'], set: (o, value) => void (o['subject'] = value) },
  tag: { get: (o) => o['tag'], set: (o, value) => void (o['tag'] = value) },
  telecom: { get: (o) => o['telecom'], set: (o, value) => void (o['telecom'] = value) },
  text: { get: (o) => o['text'], set: (o, value) => void (o['text'] = value) },
  type: { get: (o) => o['type'], set: (o, value) => void (o['type'] = value) },
  value: { get: (o) => o['value'], set: (o, value) => void (o['value'] = value) },
  valueCodeableConcept: {
    get: (o) => o['valueCodeableConcept'],
    set: (o, value) => void (o['valueCodeableConcept'] = value),
  },
  valueQuantity: { get: (o) => o['valueQuantity'], set: (o, value) => void (o['valueQuantity'] = value) },
};

/** Copies the short text under a name. Writes null if the source has no value. */
export type CopyText = (source: JsonObject, out: Output) => unknown;

/** The result of {@link CopyText} for a long text, and for a value that is not a string; it then writes nothing. */
export const OTHER = Symbol('other value');

function textOf(value: unknown): unknown {
  return typeof value === 'string' && value.length <= LONG_TEXT ? value : value === undefined ? null : OTHER;
}

/**
 * By the names of string elements.
 *
 * PERF (wide): most fields are strings. One call that reads, checks and writes takes half the time of three calls.
 */
export const TEXTS: { readonly [name: string]: CopyText } = {
  authoredOn: (o, out) => (out['authoredOn'] = textOf(o['authoredOn'])),
  birthDate: (o, out) => (out['birthDate'] = textOf(o['birthDate'])),
  city: (o, out) => (out['city'] = textOf(o['city'])),
  code: (o, out) => (out['code'] = textOf(o['code'])),
  contentType: (o, out) => (out['contentType'] = textOf(o['contentType'])),
  country: (o, out) => (out['country'] = textOf(o['country'])),
  date: (o, out) => (out['date'] = textOf(o['date'])),
  description: (o, out) => (out['description'] = textOf(o['description'])),
  display: (o, out) => (out['display'] = textOf(o['display'])),
  effectiveDateTime: (o, out) => (out['effectiveDateTime'] = textOf(o['effectiveDateTime'])),
  end: (o, out) => (out['end'] = textOf(o['end'])),
  family: (o, out) => (out['family'] = textOf(o['family'])),
  gender: (o, out) => (out['gender'] = textOf(o['gender'])),
  id: (o, out) => (out['id'] = textOf(o['id'])),
  intent: (o, out) => (out['intent'] = textOf(o['intent'])),
  issued: (o, out) => (out['issued'] = textOf(o['issued'])),
  lastUpdated: (o, out) => (out['lastUpdated'] = textOf(o['lastUpdated'])),
  name: (o, out) => (out['name'] = textOf(o['name'])),
  onsetDateTime: (o, out) => (out['onsetDateTime'] = textOf(o['onsetDateTime'])),
  postalCode: (o, out) => (out['postalCode'] = textOf(o['postalCode'])),
  priority: (o, out) => (out['priority'] = textOf(o['priority'])),
  recordedDate: (o, out) => (out['recordedDate'] = textOf(o['recordedDate'])),
  reference: (o, out) => (out['reference'] = textOf(o['reference'])),
  start: (o, out) => (out['start'] = textOf(o['start'])),
  state: (o, out) => (out['state'] = textOf(o['state'])),
  status: (o, out) => (out['status'] = textOf(o['status'])),
  system: (o, out) => (out['system'] = textOf(o['system'])),
  text: (o, out) => (out['text'] = textOf(o['text'])),
  title: (o, out) => (out['title'] = textOf(o['title'])),
  unit: (o, out) => (out['unit'] = textOf(o['unit'])),
  url: (o, out) => (out['url'] = textOf(o['url'])),
  use: (o, out) => (out['use'] = textOf(o['use'])),
  value: (o, out) => (out['value'] = textOf(o['value'])),
  valueString: (o, out) => (out['valueString'] = textOf(o['valueString'])),
  version: (o, out) => (out['version'] = textOf(o['version'])),
  versionId: (o, out) => (out['versionId'] = textOf(o['versionId'])),
};

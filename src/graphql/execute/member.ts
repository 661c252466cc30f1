import type { JsonObject } from '../../fhir/resource.js';
import type { Output } from './holes.js';

/** Reads and writes the member of an object that has a name. */
export interface Member {
  get(object: JsonObject): unknown;
  set(object: Output, value: unknown): void;
}

/**
 * The member of a name.
 *
 * PERF: JavaScript finds a member by a name in the code in a fraction of the time of one by a name in a variable, so the
 * names of most queries have code of their own. It takes a third off the copy of a wide selection. A name that is not in the
 * list is only slower. The list is written out, since code made from names at run time (`new Function`) is against strict
 * content security policies.
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

/** By their names. */
export const MEMBERS: { readonly [name: string]: Member } = {
  address: { get: (o) => o['address'], set: (o, value) => void (o['address'] = value) },
  authoredOn: { get: (o) => o['authoredOn'], set: (o, value) => void (o['authoredOn'] = value) },
  birthDate: { get: (o) => o['birthDate'], set: (o, value) => void (o['birthDate'] = value) },
  category: { get: (o) => o['category'], set: (o, value) => void (o['category'] = value) },
  city: { get: (o) => o['city'], set: (o, value) => void (o['city'] = value) },
  code: { get: (o) => o['code'], set: (o, value) => void (o['code'] = value) },
  coding: { get: (o) => o['coding'], set: (o, value) => void (o['coding'] = value) },
  component: { get: (o) => o['component'], set: (o, value) => void (o['component'] = value) },
  contact: { get: (o) => o['contact'], set: (o, value) => void (o['contact'] = value) },
  contentType: { get: (o) => o['contentType'], set: (o, value) => void (o['contentType'] = value) },
  country: { get: (o) => o['country'], set: (o, value) => void (o['country'] = value) },
  date: { get: (o) => o['date'], set: (o, value) => void (o['date'] = value) },
  description: { get: (o) => o['description'], set: (o, value) => void (o['description'] = value) },
  display: { get: (o) => o['display'], set: (o, value) => void (o['display'] = value) },
  effectiveDateTime: { get: (o) => o['effectiveDateTime'], set: (o, value) => void (o['effectiveDateTime'] = value) },
  encounter: { get: (o) => o['encounter'], set: (o, value) => void (o['encounter'] = value) },
  end: { get: (o) => o['end'], set: (o, value) => void (o['end'] = value) },
  family: { get: (o) => o['family'], set: (o, value) => void (o['family'] = value) },
  gender: { get: (o) => o['gender'], set: (o, value) => void (o['gender'] = value) },
  given: { get: (o) => o['given'], set: (o, value) => void (o['given'] = value) },
  id: { get: (o) => o['id'], set: (o, value) => void (o['id'] = value) },
  identifier: { get: (o) => o['identifier'], set: (o, value) => void (o['identifier'] = value) },
  intent: { get: (o) => o['intent'], set: (o, value) => void (o['intent'] = value) },
  interpretation: { get: (o) => o['interpretation'], set: (o, value) => void (o['interpretation'] = value) },
  issued: { get: (o) => o['issued'], set: (o, value) => void (o['issued'] = value) },
  lastUpdated: { get: (o) => o['lastUpdated'], set: (o, value) => void (o['lastUpdated'] = value) },
  line: { get: (o) => o['line'], set: (o, value) => void (o['line'] = value) },
  meta: { get: (o) => o['meta'], set: (o, value) => void (o['meta'] = value) },
  name: { get: (o) => o['name'], set: (o, value) => void (o['name'] = value) },
  onsetDateTime: { get: (o) => o['onsetDateTime'], set: (o, value) => void (o['onsetDateTime'] = value) },
  patient: { get: (o) => o['patient'], set: (o, value) => void (o['patient'] = value) },
  performer: { get: (o) => o['performer'], set: (o, value) => void (o['performer'] = value) },
  period: { get: (o) => o['period'], set: (o, value) => void (o['period'] = value) },
  postalCode: { get: (o) => o['postalCode'], set: (o, value) => void (o['postalCode'] = value) },
  prefix: { get: (o) => o['prefix'], set: (o, value) => void (o['prefix'] = value) },
  priority: { get: (o) => o['priority'], set: (o, value) => void (o['priority'] = value) },
  recordedDate: { get: (o) => o['recordedDate'], set: (o, value) => void (o['recordedDate'] = value) },
  reference: { get: (o) => o['reference'], set: (o, value) => void (o['reference'] = value) },
  result: { get: (o) => o['result'], set: (o, value) => void (o['result'] = value) },
  start: { get: (o) => o['start'], set: (o, value) => void (o['start'] = value) },
  state: { get: (o) => o['state'], set: (o, value) => void (o['state'] = value) },
  status: { get: (o) => o['status'], set: (o, value) => void (o['status'] = value) },
  subject: { get: (o) => o['subject'], set: (o, value) => void (o['subject'] = value) },
  system: { get: (o) => o['system'], set: (o, value) => void (o['system'] = value) },
  tag: { get: (o) => o['tag'], set: (o, value) => void (o['tag'] = value) },
  telecom: { get: (o) => o['telecom'], set: (o, value) => void (o['telecom'] = value) },
  text: { get: (o) => o['text'], set: (o, value) => void (o['text'] = value) },
  title: { get: (o) => o['title'], set: (o, value) => void (o['title'] = value) },
  type: { get: (o) => o['type'], set: (o, value) => void (o['type'] = value) },
  unit: { get: (o) => o['unit'], set: (o, value) => void (o['unit'] = value) },
  url: { get: (o) => o['url'], set: (o, value) => void (o['url'] = value) },
  use: { get: (o) => o['use'], set: (o, value) => void (o['use'] = value) },
  value: { get: (o) => o['value'], set: (o, value) => void (o['value'] = value) },
  valueCodeableConcept: {
    get: (o) => o['valueCodeableConcept'],
    set: (o, value) => void (o['valueCodeableConcept'] = value),
  },
  valueQuantity: { get: (o) => o['valueQuantity'], set: (o, value) => void (o['valueQuantity'] = value) },
  valueString: { get: (o) => o['valueString'], set: (o, value) => void (o['valueString'] = value) },
  version: { get: (o) => o['version'], set: (o, value) => void (o['version'] = value) },
  versionId: { get: (o) => o['versionId'], set: (o, value) => void (o['versionId'] = value) },
};

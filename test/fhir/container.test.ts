import { describe, expect, test } from 'vitest';
import { Container, type ResolvedReference } from '../../src/fhir/container.js';
import type { AnyResource } from '../../src/index.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { cases, SEED } from '../support/chance.js';

const OWN = 'http://own.example/fhir';
const SERVICE = { baseUrl: OWN };
const ELSEWHERE = 'http://elsewhere.example/fhir';

/** A short text for a target. */
function shown(target: ResolvedReference | undefined): string {
  switch (target?.kind) {
    case undefined:
      return 'malformed';
    case 'inside':
      return `inside ${String(target.resource['name'])}`;
    case 'local':
      return `local ${target.type}/${target.id}${target.version === undefined ? '' : `/_history/${target.version}`}`;
    case 'urn':
      return target.urn;
    case 'foreign':
      return target.url;
    case 'nowhere':
      return `nowhere: ${target.reason}`;
  }
}

const entry = (fullUrl: string | undefined, name: string, more: object = {}): object => ({
  ...(fullUrl === undefined ? {} : { fullUrl }),
  resource: { resourceType: 'Patient', name, ...more },
});
const bundle = (...entries: readonly object[]): AnyResource => ({ resourceType: 'Bundle', entry: entries }) as never;
const resourceAt = (of: AnyResource, index: number): JsonObject =>
  (of as unknown as { entry: { resource: JsonObject }[] }).entry[index]!.resource;

/** What references mean in the first entry of a Bundle, in a service with a base. */
function inFirst(of: AnyResource, ...references: readonly string[]): readonly string[] {
  const container = Container.of(SERVICE, of).within(resourceAt(of, 0));
  return references.map((reference) => shown(container.resolve(reference)));
}

describe('a reference in an entry', () => {
  const others = [
    entry(`${ELSEWHERE}/Patient/2`, 'two of elsewhere', { meta: { versionId: '3' } }),
    entry(`${OWN}/Patient/2`, 'two of here'),
    entry('urn:uuid:2', 'two of nowhere'),
  ];
  const at = (fullUrl: string | undefined, ...references: readonly string[]): readonly string[] =>
    inFirst(bundle(entry(fullUrl, 'first'), ...others), ...references);

  test('is relative to the root of its fullUrl', () => {
    expect(at(`${ELSEWHERE}/Patient/1`, 'Patient/2', 'Patient/9')).toEqual([
      ...['inside two of elsewhere', `${ELSEWHERE}/Patient/9`],
    ]);
    expect(at(`${ELSEWHERE}/Patient/1/_history/4`, 'Patient/2', 'Patient/1')).toEqual([
      ...['inside two of elsewhere', 'inside first'],
    ]);
    expect(at(`${OWN}/Patient/1`, 'Patient/2', 'Patient/9')).toEqual(['inside two of here', 'local Patient/9']);
  });

  test('has no meaning if it is relative to nothing', () => {
    for (const fullUrl of [undefined, 'urn:uuid:1', 'not a URL', 'ftp://elsewhere.example/Patient/1']) {
      expect(at(fullUrl, 'Patient/2'), fullUrl).toEqual(['nowhere: base']);
      expect(at(fullUrl, `${OWN}/Patient/2`, 'urn:uuid:2', 'urn:uuid:3', `${OWN}/Patient/9`)).toEqual([
        ...['inside two of here', 'inside two of nowhere', 'urn:uuid:3', 'local Patient/9'],
      ]);
    }
  });

  test('with a version means the entry of that version', () => {
    const references = [`Patient/2/_history/3`, `${ELSEWHERE}/Patient/2/_history/3`, 'Patient/2/_history/9'];
    expect(at(`${ELSEWHERE}/Patient/1`, ...references)).toEqual([
      ...['inside two of elsewhere', 'inside two of elsewhere', `${ELSEWHERE}/Patient/2/_history/9`],
    ]);
    expect(at(`${OWN}/Patient/1`, 'Patient/2/_history/1')).toEqual(['local Patient/2/_history/1']);
  });

  test('is ambiguous if several entries have its URL, and not if one object is in both', () => {
    const versions = [
      entry(`${ELSEWHERE}/Patient/1`, 'new', { meta: { versionId: '2' } }),
      entry(`${ELSEWHERE}/Patient/1`, 'old', { meta: { versionId: '1' } }),
    ];
    expect(inFirst(bundle(...versions), 'Patient/1', 'Patient/1/_history/1')).toEqual([
      ...['nowhere: ambiguous', 'inside old'],
    ]);
    const twice = bundle(versions[0]!, versions[0]!);
    expect(shown(Container.of(SERVICE, twice).resolve(`${ELSEWHERE}/Patient/1`))).toBe('inside new');
  });

  test('to a contained resource means one in its own resource, and # the resource', () => {
    const contained = [{ resourceType: 'Organization', id: 'c', name: 'inner' }];
    const outer = { ...bundle(entry(undefined, 'first', { contained }), entry(undefined, 'second')), contained: [] };
    expect(inFirst(outer as AnyResource, '#c', '#d', '#')).toEqual([
      ...['inside inner', 'nowhere: contained', 'inside first'],
    ]);
    const second = Container.of(SERVICE, outer).within(resourceAt(outer, 1));
    expect(shown(second.resolve('#c'))).toBe('nowhere: contained');
  });
});

test('references in Parameters are relative to what the Parameters is relative to', () => {
  const inner = { resourceType: 'Patient', name: 'inner', contained: [{ resourceType: 'Organization', id: 'c', name: 'c' }] };
  const parameters = { resourceType: 'Parameters', parameter: [{ name: 'a', part: [{ name: 'b', resource: inner }] }] };
  const alone = Container.of(SERVICE, parameters).within(inner);
  expect(['Patient/1', '#c', '#'].map((text) => shown(alone.resolve(text)))).toEqual([
    ...['local Patient/1', 'inside c', 'inside inner'],
  ]);
  const around = bundle({ fullUrl: `${ELSEWHERE}/Parameters/1`, resource: parameters });
  const inEntry = Container.of(SERVICE, around).within(resourceAt(around, 0)).within(inner);
  expect(shown(inEntry.resolve('Patient/1'))).toBe(`${ELSEWHERE}/Patient/1`);
}); // prettier-ignore

test('a Bundle in a Bundle resolves in itself first, then outside', () => {
  const inner = bundle(entry('urn:uuid:1', 'first of inner'), entry('urn:uuid:2', 'second of inner'));
  const outer = bundle({ fullUrl: `${ELSEWHERE}/Bundle/1`, resource: inner }, entry('urn:uuid:2', 'second of outer'), entry('urn:uuid:3', 'third of outer')); // prettier-ignore
  const first = Container.of(SERVICE, outer).within(resourceAt(outer, 0)).within(resourceAt(inner, 0));
  expect(['urn:uuid:2', 'urn:uuid:3', 'Patient/1'].map((text) => shown(first.resolve(text)))).toEqual([
    ...['inside second of inner', 'inside third of outer', 'nowhere: base'],
  ]);
});

test('a resource from another server is relative to that server', () => {
  const patient = { resourceType: 'Patient' };
  expect(shown(Container.of(SERVICE, patient, `${ELSEWHERE}/Patient/1`).resolve('Patient/2'))).toBe(`${ELSEWHERE}/Patient/2`);
  expect(shown(Container.of(SERVICE, patient, 'urn:uuid:1').resolve('Patient/2'))).toBe('nowhere: base');
  expect(shown(Container.of(SERVICE, patient).resolve('Patient/2'))).toBe('local Patient/2');
}); // prettier-ignore

/**
 * The steps of https://hl7.org/fhir/R4/bundle.html#references, word by word, for an entry of Bundles from the inside
 * out.
 */
function asWritten(reference: string, fullUrl: string | undefined, bundles: readonly AnyResource[]): string {
  const [, type, id, version] = /([A-Z][a-z]+)\/([^/]+)(?:\/_history\/([^/]+))?$/.exec(reference) ?? [];
  let url = reference.replace(/\/_history\/[^/]+$/, '');
  if (!reference.includes(':')) {
    const root = /^(http.*)\/[A-Z][a-z]+\/[^/]+$/.exec(fullUrl ?? '')?.[1];
    if (root === undefined) return 'nowhere: base';
    url = `${root}/${type}/${id}`;
  }
  for (const { entry: entries } of bundles as unknown as { entry: { fullUrl?: string; resource: JsonObject }[] }[]) {
    const matching = entries.filter(
      (one) =>
        one.fullUrl === url &&
        (version === undefined || (one.resource['meta'] as JsonObject | undefined)?.['versionId'] === version),
    );
    if (matching.length > 1) return 'nowhere: ambiguous';
    if (matching.length === 1) return `inside ${String(matching[0]!.resource['name'])}`;
  }
  const suffix = version === undefined ? '' : `/_history/${version}`;
  return url.startsWith(`${OWN}/`) ? `local ${type}/${id}${suffix}` : `${url}${suffix}`;
}

test(`random Bundles resolve as the specification says (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const id = (): string => String(below(3, random));
  const url = (): string =>
    oneOf([`${OWN}/Patient/${id()}`, `${ELSEWHERE}/Patient/${id()}`, `urn:uuid:${id()}`], random);
  const reference = (): string => {
    const text = random() < 0.5 ? `Patient/${id()}` : url();
    return !text.startsWith('urn') && random() < 0.4 ? `${text}/_history/${id()}` : text;
  };
  const kinds = new Set<string>();
  for (let number = 0; number < cases(20_000, 1_000); number += 1) {
    const make = (label: string): AnyResource =>
      bundle(
        ...Array.from({ length: 1 + below(4, random) }, (_, index) => {
          const meta = random() < 0.6 ? { meta: { versionId: id() } } : {};
          return entry(random() < 0.8 ? url() : undefined, `${label}${index}`, meta);
        }),
      );
    const inner = make('inner');
    const outer = make('outer') as unknown as { entry: object[] };
    outer.entry.push({ fullUrl: url(), resource: { ...inner, name: 'bundle' } });
    const nested = outer.entry.at(-1) as { resource: JsonObject };
    const bundles = [nested.resource as unknown as AnyResource, outer as unknown as AnyResource];
    const place = Container.of(SERVICE, bundles[1]!).within(nested.resource);
    for (const one of (nested.resource as unknown as { entry: { fullUrl?: string; resource: JsonObject }[] }).entry) {
      const text = reference();
      const found = shown(place.within(one.resource).resolve(text));
      kinds.add(found.split(/[ :]/)[0]!);
      expect(found, `${text} in ${one.fullUrl} of ${JSON.stringify(bundles)}`).toBe(asWritten(text, one.fullUrl, bundles));
    }
  }
  expect([...kinds].sort()).toEqual(['http', 'inside', 'local', 'nowhere', 'urn']);
}); // prettier-ignore

import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { keyText } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { getOrCreate } from '../../platform/collections.js';
import type { Pace } from '../../platform/pace.js';
import { childrenOf, type Criteria } from '../../search/criteria/criteria.js';
import { requiredCodes } from '../../search/criteria/value-test.js';
import { matches } from '../../search/evaluate/match.js';
import { createSubject, type SearchSubject, type SearchWorld } from '../../search/evaluate/search-subject.js';
import type { IndexEntry } from '../../search/index/index-entry.js';
import type { Identified } from '../entries/identify.js';

/** The resources that a Bundle is about to write, as a search world. */
export class BundleWorld implements SearchWorld {
  /** Keys that the Bundle writes or deletes; their stored versions are ignored. */
  readonly touched = new Set<string>();
  /** By type, then by id. */
  readonly #puts = new Map<string, Map<string, AnyResource>>();
  readonly #subjects = new Map<AnyResource, SearchSubject>();
  /** By type and parameter, then by code: for conditions on codes. */
  readonly #byCode = new Map<string, SubjectsByText>();
  /** By type and parameter, then by the target of the reference: for the conditions with `_has`. */
  readonly #byTarget = new Map<string, SubjectsByText>();

  private constructor(private readonly model: FhirModel) {}

  static async of(model: FhirModel, identified: readonly Identified[], pace: Pace): Promise<BundleWorld> {
    const world = new BundleWorld(model);
    for (const one of identified) {
      if (pace.isSpent) await pace.next();
      if (one.action !== 'put' && one.action !== 'delete') continue;
      const { type, id } = one.key;
      world.touched.add(keyText(one.key));
      if (one.action === 'delete') continue;
      getOrCreate(world.#puts, type, () => new Map<string, AnyResource>()).set(id, { ...one.resource, id });
    }
    return world;
  }

  /**
   * The ids of the first two resources that match, in steps, because a condition is compared with every resource of the
   * Bundle.
   */
  *matching(type: string, criteria: Criteria): Generator<void, readonly string[]> {
    yield* this.#indexTargets(criteria);
    const found: string[] = [];
    for (const subject of (yield* this.#candidates(type, criteria)) ?? this.#ofType(type)) {
      if (matches(criteria, subject, this) && found.push(subject.id) === 2) break;
      yield;
    }
    return found;
  }

  find(type: string, id: string): SearchSubject | undefined {
    const resource = this.#puts.get(type)?.get(id);
    return resource && this.#subjectOf(resource);
  }

  referencing(type: string, parameter: string, target: { type: string; id: string }): Iterable<SearchSubject> {
    return this.#byTarget.get(indexName(type, parameter))?.get(keyText(target)) ?? [];
  }

  #subjectOf(resource: AnyResource): SearchSubject {
    return getOrCreate(this.#subjects, resource, () => createSubject(this.model, resource, Date.now()));
  }

  *#ofType(type: string): Generator<SearchSubject, undefined> {
    for (const resource of this.#puts.get(type)?.values() ?? []) yield this.#subjectOf(resource);
    return undefined;
  }

  /**
   * Resources that may match, if a conjunct limits them by code; undefined: any of the type.
   *
   * A Bundle may have a condition per entry, most of them `identifier=…`.
   */
  *#candidates(type: string, criteria: Criteria): Generator<void, Iterable<SearchSubject> | undefined> {
    for (const one of criteria.kind === 'and' ? criteria.of : [criteria]) {
      if (one.kind !== 'match') continue;
      const codes = requiredCodes(one.test);
      if (codes === undefined) continue;
      const byCode = yield* this.#indexed(this.#byCode, type, one.parameter, codeOf);
      return new Set(codes.flatMap((code) => byCode.get(code) ?? []));
    }
    return undefined;
  }

  /** Makes the indexes that {@link referencing} reads. */
  *#indexTargets(criteria: Criteria): Generator<void> {
    if (criteria.kind === 'has') yield* this.#indexed(this.#byTarget, criteria.type, criteria.parameter, targetOf);
    for (const child of childrenOf(criteria)) yield* this.#indexTargets(child);
  }

  *#indexed(
    indexes: Map<string, SubjectsByText>,
    type: string,
    parameter: string,
    textOf: (entry: IndexEntry) => string | undefined,
  ): Generator<void, SubjectsByText> {
    const name = indexName(type, parameter);
    const known = indexes.get(name);
    if (known !== undefined) return known;
    const made: SubjectsByText = new Map();
    for (const subject of this.#ofType(type)) {
      for (const text of new Set(subject.entries.get(parameter)?.map(textOf))) {
        if (text !== undefined) getOrCreate(made, text, () => []).push(subject);
      }
      yield;
    }
    indexes.set(name, made);
    return made;
  }
}

type SubjectsByText = Map<string, SearchSubject[]>;

/** Type names have no dot, so the name is never ambiguous. */
function indexName(type: string, parameter: string): string {
  return `${type}.${parameter}`;
}

function codeOf({ value }: IndexEntry): string | undefined {
  return value.kind === 'token' ? value.code : undefined;
}

function targetOf({ value }: IndexEntry): string | undefined {
  return value.kind === 'reference' && 'id' in value ? keyText(value) : undefined;
}

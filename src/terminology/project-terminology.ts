import { LRUCache } from 'lru-cache';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { type AnyResource, elementsOf, type JsonObject } from '../fhir/resource.js';
import { getOrCreate, oncePer } from '../platform/collections.js';
import { inTurns, Pace } from '../platform/pace.js';
import { hasUrl } from '../search/business-keys.js';
import { and, type Concept, type Criteria } from '../search/criteria/criteria.js';
import { foldToken } from '../search/index/index-token.js';
import { CallPace } from '../store/guards.js';
import type { Subsumption, Terminology, TerminologyContext } from '../store/terminology.js';
import { type CodeSystemConcept, CodeSystemIndex } from './code-system.js';
import { expandValueSet } from './expand-value-set.js';

/** Options of `projectTerminology`. */
export interface ProjectTerminologyOptions {
  /**
   * CodeSystem and ValueSet resources for all projects, such as those of a package. In searches a project's own resources
   * take precedence, unless the version is named. In access policies these do.
   */
  readonly resources?: readonly AnyResource[] | undefined;
  /** Maximum number of concepts in one expansion. Default 10,000. */
  readonly maxConcepts?: number | undefined;
}

/**
 * A terminology over the CodeSystem and ValueSet resources of each project, and the resources that the host passes.
 *
 * It looks resources up for each search, with the rights of the caller, so it always uses current versions. It caches
 * expansions under these versions, 200,000 codes in all, and indexes of code systems while the store keeps the version
 * in memory.
 *
 * @example
 * const { codeSystems, valueSets } = await readFhirPackage('packages/hl7.fhir.us.core');
 * const store = withTerminology(inner, projectTerminology({ resources: [...codeSystems, ...valueSets] }));
 */
export function projectTerminology(options: ProjectTerminologyOptions = {}): Terminology {
  const { resources = [], maxConcepts = 10_000 } = options;
  const find = definitionFinder(resources);
  const kept = new KeptExpansions(find);

  const required = async (
    type: DefinitionType,
    canonical: string,
    context: TerminologyContext,
    finder: FindDefinition = find,
  ): Promise<JsonObject> => {
    const found = await finder(type, canonical, context);
    if (found !== undefined) return found;
    throw new FhirError(
      'invalid',
      `Unknown ${type === 'ValueSet' ? 'value set' : 'code system'} ${quote(canonical, 120)}`,
    );
  };
  const indexOf = async (
    system: string,
    context: TerminologyContext,
    finder?: FindDefinition,
  ): Promise<CodeSystemIndex> => indexed(await required('CodeSystem', system, context, finder));

  return {
    async expand(request, context): Promise<readonly Concept[]> {
      if (request.kind !== 'value-set') {
        const { kind, system, code } = request;
        const index = await indexOf(system, context);
        return (kind === 'above' ? index.above(code) : index.below(code)).map((concept) => conceptOf(system, concept));
      }
      const valueSet = await required('ValueSet', request.url, context);
      return kept.expand(valueSet, context, (finder) =>
        expandValueSet(valueSet, {
          valueSet: (canonical) => required('ValueSet', canonical, context, finder),
          codeSystem: (canonical) => indexOf(canonical, context, finder),
          maxConcepts,
          pace: new CallPace(context),
        }),
      );
    },
    async subsumes({ system, codeA, codeB }, context): Promise<Subsumption> {
      const index = await indexOf(system, context);
      const [a, b] = [index.hierarchyOf(codeA), index.hierarchyOf(codeB)];
      if (a === b) return 'equivalent';
      if (index.below(codeA).includes(b)) return 'subsumes';
      return index.above(codeA).includes(b) ? 'subsumed-by' : 'not-subsumed';
    },
    async lookup({ system, code }, context): Promise<Concept | undefined> {
      const concept = (await indexOf(system, context)).concepts.get(code);
      return concept && conceptOf(system, concept);
    },
  };
}

function conceptOf(system: string, { code, display }: CodeSystemConcept): Concept {
  return { system, code, ...(display === undefined ? {} : { display }) };
}

/** Stores return the same object for a version that they have in memory; a masked resource is another object. */
const indexed = oncePer((resource: JsonObject): Promise<CodeSystemIndex> =>
  // All that wait for it share it, so that no call ends it.
  inTurns(CodeSystemIndex.reading(resource), new Pace()),
);

/** Most concepts kept, of all value sets together. */
const MAX_KEPT = 200_000;

/** A definition that an expansion looked for, and the version that it found. */
interface Use {
  readonly type: DefinitionType;
  readonly canonical: string;
  readonly found: JsonObject | undefined;
}

interface Kept {
  readonly concepts: readonly Concept[];
  readonly uses: readonly Use[];
}

/**
 * Caches expansions under the versions of their definitions. Each search finds these definitions again, all at once and
 * with the rights of its caller; the expansion serves if it finds the same versions.
 */
class KeptExpansions {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ concepts, uses }) => concepts.length + uses.length + 1,
  });
  readonly #numbers = new WeakMap<JsonObject, number>();
  #count = 0;

  constructor(private readonly find: FindDefinition) {}

  /**
   * The concepts of a value set.
   *
   * @param expand makes them, with a function that finds definitions and remembers them
   */
  async expand(
    valueSet: JsonObject,
    context: TerminologyContext,
    expand: (find: FindDefinition) => Promise<readonly Concept[]>,
  ): Promise<readonly Concept[]> {
    // A value set of the host is one for all projects, but may refer to definitions of each.
    const key = `${this.#numberOf(valueSet)} ${context.project}${context.forPolicy === true ? ' policy' : ''}`;
    const known = this.#kept.get(key);
    if (known !== undefined && (await this.#isCurrent(known, context))) return known.concepts;
    const uses = new Map<string, Use>();
    const concepts = await expand(async (type, canonical, asked) => {
      const found = await this.find(type, canonical, asked);
      uses.set(`${type} ${canonical}`, { type, canonical, found });
      return found;
    });
    this.#kept.set(key, { concepts, uses: [...uses.values()] });
    return concepts;
  }

  /** Stores return the same object for a version that they have in memory; a masked resource is another object. */
  async #isCurrent({ uses }: Kept, context: TerminologyContext): Promise<boolean> {
    const found = await Promise.all(uses.map(({ type, canonical }) => this.find(type, canonical, context)));
    return uses.every((use, index) => use.found === found[index]);
  }

  #numberOf(valueSet: JsonObject): number {
    return getOrCreate(this.#numbers, valueSet, () => ++this.#count);
  }
}

type DefinitionType = 'CodeSystem' | 'ValueSet';

/** Finds a CodeSystem or ValueSet by its canonical. */
type FindDefinition = (
  type: DefinitionType,
  canonical: string,
  context: TerminologyContext,
) => Promise<JsonObject | undefined>;

/**
 * Looks in the project first, then among resources of the host. The host's come first for an access policy, and where
 * the canonical names their version: nobody replaces what the host has fixed.
 *
 * Of several versions the active ones come first, then those with the highest version.
 */
function definitionFinder(resources: readonly AnyResource[]): FindDefinition {
  const given = Map.groupBy(resources.map(elementsOf), ({ url }) => url);
  return async (type, canonical, context) => {
    const [url, version] = splitCanonical(canonical);
    const ofHost = best(
      (given.get(url) ?? []).filter(
        (one) => one['resourceType'] === type && (version === undefined || one['version'] === version),
      ),
    );
    if (ofHost !== undefined && (context.forPolicy === true || version !== undefined)) return ofHost;
    const found = await context.search(type, criteriaFor(type, url, version));
    return best(found.map(elementsOf)) ?? ofHost;
  };
}

/** `url|version`. */
function splitCanonical(canonical: string): readonly [url: string, version: string | undefined] {
  const bar = canonical.lastIndexOf('|');
  return bar < 0 ? [canonical, undefined] : [canonical.slice(0, bar), canonical.slice(bar + 1)];
}

function criteriaFor(type: DefinitionType, url: string, version: string | undefined): Criteria {
  if (url.startsWith(`${type}/`)) return { kind: 'id', ids: [url.slice(type.length + 1)] };
  return and([
    hasUrl(url),
    ...(version === undefined
      ? []
      : [{ kind: 'match', parameter: 'version', test: { kind: 'token', code: foldToken(version) } } as const]),
  ]);
}

function best(found: readonly JsonObject[]): JsonObject | undefined {
  return found.toSorted((one, other) => rank(other) - rank(one) || compareVersions(other, one))[0];
}

function rank({ status }: JsonObject): number {
  return status === 'active' ? 2 : status === 'retired' ? 0 : 1;
}

function compareVersions(one: JsonObject, other: JsonObject): number {
  const text = ({ version }: JsonObject): string => (typeof version === 'string' ? version : '');
  return text(one).localeCompare(text(other), 'en', { numeric: true });
}

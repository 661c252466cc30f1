import { FhirError } from '../fhir/error.js';
import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { shorten } from '../fhir/messages.js';
import type { JsonObject } from '../fhir/resource.js';
import { getOrCreate } from '../platform/collections.js';
import { inOneGo } from '../platform/pace.js';
import { compileFhirPath } from '../fhirpath/compile.js';
import { coreTypeOf, definitionsByUrl, withoutVersion } from './definitions-by-url.js';
import type {
  BoundsRule,
  CodeRule,
  ElementRules,
  InvariantRule,
  ProfileRules,
  SliceRules,
  SlicingRules,
  TypeRule,
  UncheckedRule,
} from './element-rules.js';
import { choiceIn, readElements, typesIn, type ProfileElement } from './read-elements.js';
import { compileSlice, type Discriminator } from './slices.js';
import { areComparable, boundsIn } from './value-bounds.js';
import { listingCodes, objectsOf } from './value-set-codes.js';

/** Longest chain of profiles, each derived from the next. */
const MAX_BASES = 20;

const PROFILES = perModel(() => new Map<string, ProfileRules>());

/**
 * Compiles a profile of the model in steps, once. Its snapshot is checked where it has one, else its differential and the
 * profiles that it derives from. {@link loadFhirPath} must have been awaited.
 *
 * @returns undefined if the model has no profile of this URL
 */
export function compilingProfile(model: FhirModel, url: string): Generator<void, ProfileRules | undefined> {
  return compilingDerived(model, withoutVersion(url), []);
}

/** {@link compilingProfile} without pauses. */
export function profileRules(model: FhirModel, url: string): ProfileRules | undefined {
  return inOneGo(compilingProfile(model, url));
}

/** The type that a profile is for, `''` if it names none; undefined if the model has no profile of this URL. */
export function profileType(model: FhirModel, url: string): string | undefined {
  const definition = definitionsByUrl(model).profile(url);
  return definition === undefined ? undefined : typeOf(definition);
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' ? type : '';
}

/** @param derived the profiles that derive from it */
function* compilingDerived(
  model: FhirModel,
  url: string,
  derived: readonly string[],
): Generator<void, ProfileRules | undefined> {
  const known = PROFILES(model);
  const found = known.get(url);
  if (found !== undefined) return found;
  const definition = definitionsByUrl(model).profile(url);
  // A profile that derives from itself ends here.
  if (definition === undefined || derived.includes(url)) return undefined;
  const rules = yield* new ProfileCompiler(model, url, definition, derived).compiling();
  // Another call may have compiled it during these steps.
  return getOrCreate(known, url, () => rules);
}

/** The rules for one element while a profile is read. */
interface Draft {
  readonly name: string;
  readonly id: string;
  definition: JsonObject;
  /** Name of the FHIR type, where it is known. */
  readonly type: string | undefined;
  readonly children: Map<string, Draft>;
  readonly slices: Map<string, Draft>;
}

class ProfileCompiler {
  readonly #unchecked: UncheckedRule[] = [];

  constructor(
    private readonly model: FhirModel,
    private readonly url: string,
    private readonly profile: JsonObject,
    private readonly derived: readonly string[],
  ) {}

  *compiling(): Generator<void, ProfileRules> {
    const { model, url } = this;
    const type = typeOf(this.profile);
    const read = readElements(this.profile);
    const root = this.#draft(type, type, model.typeDefinition(type) === undefined ? undefined : type);
    if (read === undefined) this.#skip(root.id, 'the profile: it has neither a snapshot nor a differential');
    for (const element of read?.elements ?? []) this.#place(root, element);
    const base = read?.isSnapshot === true ? undefined : yield* this.#base();
    const rules = yield* this.#rules(root, base?.root);
    return { url, type, root: rules, base, unchecked: [...this.#unchecked, ...(base?.unchecked ?? [])] };
  }

  /** The profile that a differential is based on; undefined for FHIR's own types. */
  *#base(): Generator<void, ProfileRules | undefined> {
    const url = this.profile['baseDefinition'];
    if (typeof url !== 'string' || coreTypeOf(this.model, url) !== undefined) return undefined;
    const derived = [...this.derived, this.url];
    const found =
      derived.length > MAX_BASES ? undefined : yield* compilingDerived(this.model, withoutVersion(url), derived);
    if (found === undefined) {
      this.#skip(String(this.profile['type']), `the base ${shorten(url, 200)}: it is not among the definitions`);
    }
    return found;
  }

  #draft(name: string, id: string, type: string | undefined): Draft {
    return { name, id, type, definition: {}, children: new Map(), slices: new Map() };
  }

  #place(root: Draft, { definition, steps }: ProfileElement): void {
    let draft = root;
    for (const { name, slice } of steps.slice(1)) {
      let child = draft.children.get(name);
      if (child === undefined) {
        child = this.#draft(name, `${draft.id}.${name}`, this.#typeBelow(draft.type, name));
        draft.children.set(name, child);
      }
      draft = child;
      if (slice === undefined) continue;
      let part = draft.slices.get(slice);
      if (part === undefined) {
        const code = typesIn(definition)[0]?.code;
        const type = name.endsWith('[x]') && code !== undefined ? code : draft.type;
        part = this.#draft(name, `${draft.id}:${slice}`, type);
        draft.slices.set(slice, part);
      }
      draft = part;
    }
    draft.definition = definition;
  }

  /** The type of an element below a type; undefined for choices, because only a value has their type. */
  #typeBelow(type: string | undefined, name: string): string | undefined {
    const definition = type === undefined ? undefined : this.model.typeDefinition(type);
    return definition?.elements.get(name)?.type ?? (definition?.kind === 'primitive' ? 'Extension' : undefined);
  }

  *#rules(draft: Draft, inherited: ElementRules | undefined): Generator<void, ElementRules> {
    yield;
    const { name, id, definition, type } = draft;
    const { min, max, maxLength } = definition;
    const below = new Map(inherited?.children.map((child) => [child.name, child]));
    const children: ElementRules[] = [];
    for (const child of draft.children.values()) children.push(yield* this.#rules(child, below.get(child.name)));
    const rules: ElementRules = {
      name,
      id,
      min: typeof min === 'number' && min > 0 ? min : 0,
      max: typeof max === 'string' && /^\d+$/.test(max) ? Number(max) : Number.POSITIVE_INFINITY,
      maxLength: typeof maxLength === 'number' ? maxLength : undefined,
      bounds: this.#bounds(id, definition),
      types: this.#types(id, definition),
      fixed: choiceIn(definition, 'fixed'),
      pattern: choiceIn(definition, 'pattern'),
      codes: yield* this.#codes(id, definition),
      invariants: this.#invariants(draft, type),
      children,
      slicing: undefined,
    };
    return { ...rules, slicing: yield* this.#slicing(draft, inherited?.slicing) };
  }

  #bounds(id: string, definition: JsonObject): BoundsRule | undefined {
    const bounds = boundsIn(definition);
    if (bounds === undefined) return undefined;
    if (areComparable(bounds)) {
      return { ...bounds, incomparable: this.#rule(id, 'minValue and maxValue of a value in another unit or form') };
    }
    this.#skip(id, 'minValue or maxValue: it cannot be compared with values');
    return undefined;
  }

  #types(id: string, definition: JsonObject): readonly TypeRule[] {
    return typesIn(definition).flatMap(({ code, profiles, targetProfiles }) => {
      if (code.includes('/')) return [];
      const known = profiles.filter((url) => coreTypeOf(this.model, url) === undefined);
      const missing = known.find((url) => definitionsByUrl(this.model).profile(url) === undefined);
      if (missing !== undefined)
        this.#skip(id, `the profile ${shorten(missing, 200)}: it is not among the definitions`);
      const elsewhere = this.#rule(
        id,
        `that targets conform to ${shorten(targetProfiles.join(', '), 200)}: those outside of the resource and its Bundle are not read`,
      );
      const demanded = missing === undefined ? known : [];
      return [{ type: code, profiles: demanded, targets: this.#targets(id, targetProfiles), elsewhere }];
    });
  }

  #targets(id: string, profiles: readonly string[]): ReadonlyMap<string, readonly string[]> | undefined {
    if (profiles.length === 0) return undefined;
    const targets = new Map<string, readonly string[]>();
    for (const url of profiles) {
      const core = coreTypeOf(this.model, url);
      const type = core ?? definitionsByUrl(this.model).profile(url)?.['type'];
      if (type === undefined) {
        this.#skip(id, `the target ${shorten(url, 200)}: it is not among the definitions`);
        return undefined;
      }
      if (typeof type !== 'string' || type === 'Resource' || type === 'DomainResource') return undefined;
      const others = targets.get(type);
      // A target that may be any resource of its type needs no profile.
      targets.set(type, core !== undefined || others?.length === 0 ? [] : [...(others ?? []), url]);
    }
    return targets;
  }

  *#codes(id: string, { binding }: JsonObject): Generator<void, CodeRule | undefined> {
    const { strength, valueSet } = objectsOf([binding])[0] ?? {};
    if (strength !== 'required' || typeof valueSet !== 'string') return undefined;
    const codes = yield* listingCodes(this.model, valueSet);
    if (!('reason' in codes)) return { valueSet: shorten(withoutVersion(valueSet), 200), codes };
    // FHIR's own bindings are checked with the definitions of FHIR.
    if (!withoutVersion(valueSet).startsWith('http://hl7.org/fhir/ValueSet/'))
      this.#skip(id, `the required binding to ${shorten(valueSet, 200)}: ${codes.reason}`);
    return undefined;
  }

  #invariants({ id, definition }: Draft, type: string | undefined): readonly InvariantRule[] {
    return objectsOf(definition['constraint']).flatMap(({ key, severity, human, expression, source }) => {
      if (typeof key !== 'string' || CORE_INVARIANTS.has(key)) return [];
      // Those of FHIR itself that every resource would repeat.
      if (typeof source === 'string' && /\/(?:Element|Extension|Resource|DomainResource|BackboneElement)$/.test(source))
        return [];
      if (typeof expression !== 'string') {
        this.#skip(id, `the invariant ${shorten(key)}: it has no FHIRPath expression`);
        return [];
      }
      try {
        const holds = compileFhirPath(this.model, expression, type);
        const text = typeof human === 'string' ? shorten(human, 300) : 'the invariant does not hold';
        const elsewhere = this.#rule(id, `the invariant ${shorten(key)}: it depends on a resource that is not read`);
        return [{ key: shorten(key), isError: severity !== 'warning', human: text, holds, elsewhere }];
      } catch (error) {
        if (!(error instanceof FhirError) || error.code === 'internal') throw error;
        this.#skip(id, `the invariant ${shorten(key)}: ${error.message}`);
        return [];
      }
    });
  }

  *#slicing(draft: Draft, inherited: SlicingRules | undefined): Generator<void, SlicingRules | undefined> {
    if (draft.slices.size === 0) return undefined;
    const slicing = objectsOf([draft.definition['slicing']])[0];
    const discriminators = slicing === undefined ? implicitDiscriminators(draft.name) : discriminatorsOf(slicing);
    const known = new Map(inherited?.slices.map((slice) => [slice.name, slice]));
    const slices: SliceRules[] = [];
    for (const [name, part] of draft.slices) {
      const same = known.get(name);
      const rules = yield* this.#rules(part, same?.rules);
      const holds =
        same?.holds ??
        compileSlice(
          this.model,
          rules,
          slicing === undefined && same === undefined ? implicitDiscriminators(draft.name) : discriminators,
        );
      const elsewhere = this.#rule(
        part.id,
        'the slice, for references that lead out of the resource and its Bundle: other resources are not read',
      );
      if (holds !== undefined) slices.push({ name, rules, holds, elsewhere });
      else this.#skip(part.id, 'the slice: its discriminators are not supported');
    }
    // An item may belong to a slice that is not checked.
    const closed = slicing?.['rules'] === 'closed' && slices.length === draft.slices.size;
    return { closed, slices };
  }

  #skip(element: string, reason: string): void {
    if (this.#unchecked.length < MAX_UNCHECKED) this.#unchecked.push(this.#rule(element, reason));
  }

  #rule(element: string, reason: string): UncheckedRule {
    return { profile: this.url, element, reason };
  }
}

const MAX_UNCHECKED = 1_000;

/** Invariants that every element and resource has, which validation against the definitions of FHIR checks. */
const CORE_INVARIANTS: ReadonlySet<string> = new Set([
  ...['ele-1', 'ext-1', 'ref-1', 'txt-1', 'txt-2', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'dom-6'],
]);

/** Extensions are distinguished by url and choices by type, whether or not a profile says so. */
function implicitDiscriminators(name: string): readonly Discriminator[] {
  if (name === 'extension' || name === 'modifierExtension') return [{ type: 'value', path: 'url' }];
  return name.endsWith('[x]') ? [{ type: 'type', path: '$this' }] : [];
}

function discriminatorsOf(slicing: JsonObject): readonly Discriminator[] {
  return objectsOf(slicing['discriminator']).flatMap(({ type, path }) =>
    typeof type === 'string' && typeof path === 'string' ? [{ type, path }] : [{ type: '', path: '' }],
  );
}

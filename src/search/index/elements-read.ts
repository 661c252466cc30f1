import type {
  PathExpression,
  PathStep,
  SearchComponentDefinition,
  SearchParameterDefinition,
} from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { noteReads } from '../../fhirpath/reach/expression-reach.js';
import {
  type ElementsRead,
  isAnyResource,
  ofType,
  type Place,
  placesNamed,
  Reach,
  rootPlace,
} from '../../fhirpath/reach/places.js';
import { getOrCreate } from '../../platform/collections.js';
import { pathsOfNative } from './index-expression.js';

/** Represents the elements that chains read when they enter contained resources. */
export const INSIDE = '#';

/**
 * The elements on which the index values of a search parameter depend: those that it takes values from and those that it
 * chooses by. Hiding, masking and indexing rely on this one account.
 *
 * @param code also `code:identifier` and `code$0`, as index entries name them, and {@link INSIDE}
 */
export function elementsRead(model: FhirModel, type: string, code: string): ElementsRead {
  if (code === INSIDE) return INSIDE_HEADS;
  const parameter = model.searchParameter(type, code.replace(/[:$].*/, ''));
  if (parameter === undefined) return NOTHING;
  const read = getOrCreate(READ(model), parameter, () => collect(model, type, parameter));
  if (!code.includes(':')) return read;
  const { paths, inside } = read;
  const typeTests = parameter.path?.some((steps) => hasTypeTest(steps.at(-1))) === true ? TYPES_INSIDE : [];
  if (!code.endsWith(':present')) return { paths: [...paths, ...typeTests], inside };
  const withDisplay = paths.flatMap((path) =>
    path.endsWith('.reference') ? [path, path.replace(/reference$/, 'display')] : path,
  );
  return { paths: [...withDisplay, ...typeTests], inside };
}

const NOTHING: ElementsRead = { paths: [], inside: new Map() };

/** Where chains find resources inside: `Bundle.composition` and `.message` mean entries. */
const INSIDE_HEADS: ElementsRead = { paths: ['contained', 'entry'], inside: new Map() };

/**
 * The elements that `subject.where(resolve() is Patient)` reads of a reference `#id`. The index has its identifier and
 * its presence, but no value: searches for `Patient/1` do not depend on contained resources.
 */
const TYPES_INSIDE = ['contained.id', 'contained.resourceType'];
/** In a Bundle, a reference can also name another entry; such a reference has a value in the index. */
const TYPES_OF_ENTRIES = ['entry.fullUrl', 'entry.resource.resourceType'];

function hasTypeTest(step: PathStep | undefined): boolean {
  return typeof step === 'object' && 'resolvesTo' in step;
}

/** Definitions are made once per type and kept, so these are too. */
const READ = perModel(() => new WeakMap<SearchParameterDefinition, ElementsRead>());

function collect(model: FhirModel, type: string, parameter: SearchParameterDefinition): ElementsRead {
  const walk = new ParameterWalk(model, type, parameter.components !== undefined);
  const { components } = parameter;
  if (components === undefined) {
    walk.follow(parameter, rootPlace(type), (place) => walk.readValue(place));
    return walk.elements;
  }
  walk.follow(parameter, rootPlace(type), (place) => {
    for (const component of components) walk.follow(component, place, (value) => walk.reach.read(value));
  });
  return walk.elements;
}

/** Walks the expressions of one search parameter. */
class ParameterWalk {
  readonly reach: Reach;
  readonly #aside = new Set<string>();

  constructor(
    private readonly model: FhirModel,
    private readonly type: string,
    private readonly isComposite: boolean,
  ) {
    this.reach = new Reach(model);
  }

  get elements(): ElementsRead {
    const { paths, inside } = this.reach.elements;
    return { paths: [...paths, ...this.#aside], inside };
  }

  /** @param end receives the places that a path leads to; other expressions are read as a whole */
  follow(
    { expression, path }: Pick<SearchComponentDefinition, 'expression' | 'path'>,
    from: Place,
    end: (place: Place) => void,
  ): void {
    const native = path === undefined ? pathsOfNative(expression) : undefined;
    if (native !== undefined) this.#followAll(native, rootPlace(this.type), (place) => this.reach.read(place));
    else if (path === undefined) {
      noteReads(this.model, expression, [from], this.type, this.reach);
      if (this.type === 'Bundle') this.#aside.add('entry.fullUrl');
    } else this.#followAll(path, from, end);
  }

  #followAll(path: PathExpression, from: Place, end: (place: Place) => void): void {
    for (const steps of path) this.#step(steps, from, end);
  }

  /**
   * Indexes contain the target of a Reference, but only the presence of its display (`code:present`). The `fullUrl` of an
   * entry names its resource, and decides what its references mean.
   */
  readValue(place: Place): void {
    const { path, type } = place;
    const isNamed = type === 'Reference' || isAnyResource(type) || this.model.isResourceType(type);
    if (isNamed && path[0] === 'entry') this.#aside.add('entry.fullUrl');
    if (type === 'Reference') {
      for (const name of ['reference', 'identifier', 'type']) this.reach.read({ ...place, path: [...path, name] });
    } else if (isAnyResource(type) || this.model.isResourceType(type)) {
      // A resource is indexed by its type and id, which are never hidden by its own rules.
      this.reach.read({ path, type: '', within: place.within.slice(0, -1) });
    } else this.reach.read(place);
  }

  #step([step, ...rest]: readonly PathStep[], place: Place, end: (place: Place) => void): void {
    if (step === undefined) return end(place);
    if (typeof step === 'string') {
      for (const next of placesNamed(this.model, place, step)) this.#step(rest, next, end);
      return;
    }
    if ('ofType' in step) {
      const { type } = place;
      if (!isAnyResource(type) && !this.model.isA(type, step.ofType)) return;
      const next = ofType(this.model, place, step.ofType);
      return next === undefined ? undefined : this.#step(rest, next, end);
    }
    if ('equals' in step) this.#test(step.path, place);
    // Hidden items are removed, which moves the others.
    else if ('index' in step) this.reach.touch(place);
    else this.#testType(rest.length === 0);
    this.#step(rest, place, end);
  }

  /** Compares a single value, so that the number of items on the way to it counts. */
  #test([name, ...rest]: readonly string[], place: Place): void {
    for (const next of placesNamed(this.model, place, name!)) {
      if (rest.length === 0) this.reach.read(next);
      else {
        this.reach.touch(next);
        this.#test(rest, next);
      }
    }
  }

  #testType(isLast: boolean): void {
    if (!isLast || this.isComposite) for (const path of TYPES_INSIDE) this.#aside.add(path);
    if (this.type === 'Bundle') for (const path of TYPES_OF_ENTRIES) this.#aside.add(path);
  }
}

import { isJsonObject } from '../fhir/resource.js';
import { referenceStub } from '../fhir/reference-stub.js';
import { fhirPathLibrary } from './library.js';

/** The wrapper that fhirpath.js puts around values. The class is not exported, so it is reached through an instance. */
interface ResourceNode {
  readonly constructor: {
    makeResNode?(context: unknown, data: unknown, parent: null, path: null, extra: null, type: null): unknown;
  };
}

type Criteria = (item: unknown) => readonly unknown[];

/**
 * `where()`, `exists()` and `resolve()` for the function table of fhirpath.js.
 *
 * fhirpath.js keeps an item when its criteria return anything, even `false` elements; the specification requires `true`
 * (https://hl7.org/fhirpath/N1/#wherecriteria-expression-collection). Its `resolve()` reads over the network; ours
 * returns the type and id given in the reference.
 */
export const COLLECTION_FUNCTIONS = {
  where: {
    fn(this: EvaluationContext, items: readonly unknown[], criteria: Criteria): unknown[] {
      return items.filter((item, index) => isMet(this, item, index, criteria));
    },
    arity: { 1: ['Expr'] },
    internalStructures: true,
  },
  exists: {
    fn(this: EvaluationContext, items: readonly unknown[], criteria?: Criteria): boolean {
      if (criteria === undefined) return items.length > 0;
      return items.some((item, index) => isMet(this, item, index, criteria));
    },
    arity: { 0: [], 1: ['Expr'] },
    internalStructures: true,
  },
  resolve: {
    fn(this: EvaluationContext, items: readonly unknown[]): unknown[] {
      return items.flatMap((item) => resolved(this, item));
    },
    arity: { 0: [] },
    internalStructures: true,
  },
};

interface EvaluationContext {
  $index?: number;
}

/**
 * Singleton evaluation: a single non-boolean item counts as true. See
 * https://hl7.org/fhirpath/N1/#singleton-evaluation-of-collections.
 */
function isMet(context: EvaluationContext, item: unknown, index: number, criteria: Criteria): boolean {
  context.$index = index;
  const result = criteria(item);
  if (result.length > 1) throw new Error('criteria gave several items');
  if (result.length === 0) return false;
  const value: unknown = fhirPathLibrary().util.valData(result[0]);
  return value !== false && value !== null && value !== undefined;
}

function resolved(context: EvaluationContext, item: unknown): unknown[] {
  const value: unknown = fhirPathLibrary().util.valData(item);
  const stub = isJsonObject(value) ? referenceStub(value) : undefined;
  if (stub === undefined) return [];
  const node = (item as ResourceNode).constructor.makeResNode?.(context, stub, null, null, null, null);
  return [node ?? stub];
}

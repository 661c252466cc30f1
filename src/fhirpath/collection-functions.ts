import type { Container } from '../fhir/container.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { referenceStub } from '../fhir/reference.js';
import { fhirPathLibrary } from './library.js';
import { unquote, type SyntaxNode } from './syntax-tree.js';

/** The wrapper that fhirpath.js puts around values. The class is not exported, so it is reached through an instance. */
interface ResourceNode {
  readonly constructor: {
    makeResNode?(context: unknown, data: unknown, parent: null, path: null, extra: null, type: null): unknown;
  };
  readonly data?: unknown;
  /** The name of the element, and the node that has it. */
  readonly propName?: string | null;
  readonly parentResNode?: ResourceNode | null;
}

type Criteria = (item: unknown) => readonly unknown[];

/**
 * `where()`, `exists()` and `resolve()` for the function table of fhirpath.js.
 *
 * fhirpath.js keeps an item when its criteria return anything, even `false` elements; the specification requires `true`
 * (https://hl7.org/fhirpath/N1/#wherecriteria-expression-collection). Its `resolve()` reads over the network. Ours reads
 * no other resource: it finds contained resources and entries of the same Bundle where a {@link Resolution} is given, and
 * otherwise returns a stand-in with the type and id that the reference states.
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
  readonly vars: { readonly [RESOLUTION]?: Resolution | undefined };
}

/** The key of the {@link Resolution} in the variables. */
export const RESOLUTION = Symbol('resolution');

/** Where the references of one evaluation lead. */
export class Resolution {
  /** By resource that was resolved. */
  readonly #found = new Map<unknown, Container>();

  /** @param container the resource that the evaluation begins in */
  constructor(private readonly container: Container) {}

  /** The target of a reference in a node: a resource inside; undefined if it leads nowhere; `outside` for all others. */
  target(node: ResourceNode, text: string): JsonObject | 'outside' | undefined {
    const target = this.#containerOf(node).resolve(text);
    if (target === undefined || target.kind === 'nowhere') return undefined;
    if (target.kind !== 'inside') return 'outside';
    this.#found.set(target.resource, target.container);
    return target.resource;
  }

  /** The service's own base URL. */
  get baseUrl(): string | undefined {
    return this.container.baseUrl;
  }

  /** The resource that the node is in, by way of the resources around it. */
  #containerOf(node: ResourceNode): Container {
    const resources: ResourceNode[] = [];
    for (let at: ResourceNode | null | undefined = node; at; at = at.parentResNode) {
      if (isJsonObject(at.data) && typeof at.data['resourceType'] === 'string') resources.unshift(at);
    }
    const [outermost, ...inner] = resources;
    const start = this.#found.get(outermost?.data) ?? this.container;
    return inner.reduce((container, { data, propName }) => {
      const resource = data as JsonObject;
      return propName === 'contained' ? container.withinContained(resource) : container.within(resource);
    }, start);
  }
}

/** The stand-ins for targets, of which only type and id are known. */
const STAND_INS = new WeakSet();

/** The elements of a stand-in. */
const KNOWN_ELEMENTS: ReadonlySet<string> = new Set(['resourceType', 'id']);
/** The functions that need no more than the type of a target. */
const TYPE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['is', 'as', 'ofType', 'type', 'where', 'select', 'first', 'last', 'single', 'tail', 'skip', 'take', 'iif', 'all'],
]);

/**
 * Called after each node of an expression with `resolve()`.
 *
 * @param isWhole whether functions are refused that depend on the existence of the target
 * @throws FhirError `unsupported` - the node reads an element of a resource that is not available
 */
export function assertAvailable(focus: unknown, { type, text = '' }: SyntaxNode, isWhole: boolean): void {
  const isRead =
    type === 'MemberInvocation'
      ? !KNOWN_ELEMENTS.has(unquote(text))
      : type === 'Functn' && isWhole && !TYPE_FUNCTIONS.has(text);
  if (!isRead || !Array.isArray(focus)) return;
  if (!focus.some((item: unknown) => isJsonObject((item as ResourceNode | null)?.data) && isStandIn(item))) return;
  throw new FhirError(
    'unsupported',
    'FHIRPath reads no other resource: of the target of resolve() it knows the type and id, and contained resources and entries of the same Bundle. Search by a chain, or follow the reference with "resource"',
  );
}

function isStandIn(item: unknown): boolean {
  return STAND_INS.has((item as { readonly data: object }).data);
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
  const resolution = context.vars[RESOLUTION];
  const text = isJsonObject(value) ? value['reference'] : value;
  const target = typeof text === 'string' ? resolution?.target(item as ResourceNode, text) : undefined;
  if (isJsonObject(target)) return [nodeOf(context, item, target)];
  if (resolution !== undefined && typeof text === 'string' && target === undefined) return [];
  const stub = isJsonObject(value) ? referenceStub(value, resolution?.baseUrl) : undefined;
  if (stub === undefined) return [];
  STAND_INS.add(stub);
  return [nodeOf(context, item, stub)];
}

function nodeOf(context: EvaluationContext, item: unknown, data: object): unknown {
  return (item as ResourceNode).constructor.makeResNode?.(context, data, null, null, null, null) ?? data;
}

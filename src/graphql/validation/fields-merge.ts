import {
  getNamedType,
  GraphQLError,
  isCompositeType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  print,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type SelectionSetNode,
} from '../graphql-js.js';
import { sortValueNode } from '../graphql-js-validation.js';
import { LimitError } from '../limits.js';
import { getOrCreate, pushTo } from '../../platform/collections.js';

/** Maximum number of selections compared; typical documents have some hundreds. 50,000 take about 20 ms. */
const MAX_SELECTIONS = 50_000;

/**
 * GraphQL's rule "Field Selection Merging" for documents that pass all other rules: fields with one response key are
 * the same field with the same arguments, or are on mutually exclusive types and have the same shape. See
 * https://spec.graphql.org/October2021/#sec-Field-Selection-Merging.
 *
 * In graphql-js fields are compared pair by pair, which takes quadratic time in some versions and rejects valid
 * documents in others. This implementation collects the fields of a response key with fragments expanded, and compares
 * each with the first, like graphql-java, after Simon Adameit (https://github.com/graphql-java/graphql-java/pull/1727).
 * Every combination of selection sets is visited once.
 *
 * @returns at most one error per response key and place
 * @throws LimitError `fields` - fragments expand to too many selections
 */
export function findMergeErrors(
  schema: GraphQLSchema,
  document: DocumentNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): GraphQLError[] {
  const check = new MergeCheck(schema, fragments);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const root = schema.getRootType(definition.operation);
    if (root != null) {
      check.mergeAll([{ type: root, set: definition.selectionSet }], 'same-field');
    }
  }
  return check.errors;
}

interface FieldScope {
  readonly type: GraphQLCompositeType;
  readonly set: SelectionSetNode;
}

interface Occurrence {
  readonly parent: GraphQLCompositeType;
  readonly node: FieldNode;
  readonly type: GraphQLOutputType | undefined;
}

type Occurrences = readonly [Occurrence, ...Occurrence[]];

/** `same-field`: one object may have all of the fields. `same-shape`: no object has two of them. */
type Demand = 'same-field' | 'same-shape';

class MergeCheck {
  readonly errors: GraphQLError[] = [];
  readonly #seen = new Set<string>();
  readonly #numbers = new Map<SelectionSetNode, number>();
  readonly #arguments = new Map<FieldNode, string>();
  #selections = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  ) {}

  /** Checks selection sets whose fields end up in one object of the response. */
  mergeAll(places: readonly FieldScope[], demand: Demand): void {
    if (places.length === 0) return;
    const key = `${demand} ${places.map(({ set }) => this.#numberOf(set)).join()}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    for (const [name, occurrences] of this.#collect(places)) this.#merge(name, occurrences, demand);
  }

  #merge(name: string, occurrences: Occurrences, demand: Demand): void {
    const groups = demand === 'same-field' ? byCommonParent(occurrences) : [];
    if (groups.some((group) => this.#reportDifferent(name, group))) return;
    if (this.#reportMisshapen(name, occurrences)) return;
    for (const group of groups) this.mergeAll(insideOf(group), 'same-field');
    if (groups.length !== 1) this.mergeAll(insideOf(occurrences), 'same-shape');
  }

  #reportDifferent(name: string, [first, ...others]: Occurrences): boolean {
    for (const other of others) {
      const [one, two] = [first.node.name.value, other.node.name.value];
      if (one !== two) {
        this.#report(name, first, other, `"${one}" and "${two}" are different fields`);
        return true;
      }
      if (this.#argumentsOf(first.node) !== this.#argumentsOf(other.node)) {
        this.#report(name, first, other, 'they have differing arguments');
        return true;
      }
    }
    return false;
  }

  #reportMisshapen(name: string, [first, ...others]: Occurrences): boolean {
    const other = others.find(({ type }) => !haveSameShape(first.type, type));
    if (other === undefined) return false;
    this.#report(name, first, other, `they return conflicting types "${first.type}" and "${other.type}"`);
    return true;
  }

  #report(name: string, one: Occurrence, other: Occurrence, reason: string): void {
    this.errors.push(
      new GraphQLError(
        `Fields "${name}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`,
        { nodes: [one.node, other.node] },
      ),
    );
  }

  /** Fields by response key, fragments expanded; each fragment once, since its fields are always the same. */
  #collect(places: readonly FieldScope[]): ReadonlyMap<string, Occurrences> {
    const collected = new Map<string, [Occurrence, ...Occurrence[]]>();
    const opened = new Set<string>();
    for (const place of places) this.#collectInto(collected, place, opened);
    return collected;
  }

  #collectInto(
    collected: Map<string, [Occurrence, ...Occurrence[]]>,
    { type: parent, set }: FieldScope,
    opened: Set<string>,
  ): void {
    this.#spend(set.selections.length);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const type = fieldTypeOf(parent, selection.name.value);
        const occurrence = { parent, node: selection, type };
        const key = selection.alias?.value ?? selection.name.value;
        pushTo(collected, key, occurrence);
        continue;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        if (opened.has(selection.name.value)) continue;
        opened.add(selection.name.value);
      }
      const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : this.fragments.get(selection.name.value);
      const condition = fragment?.typeCondition?.name.value;
      const type = condition === undefined ? parent : this.schema.getType(condition);
      if (fragment !== undefined && isCompositeType(type)) {
        this.#collectInto(collected, { type, set: fragment.selectionSet }, opened);
      }
    }
  }

  #spend(selections: number): void {
    this.#selections += selections;
    if (this.#selections <= MAX_SELECTIONS) return;
    throw new LimitError(
      'fields',
      MAX_SELECTIONS,
      'The query selects the same fields in too many combinations of fragments; use fewer fragments, or split it',
    );
  }

  #argumentsOf(node: FieldNode): string {
    let text = this.#arguments.get(node);
    if (text === undefined) {
      const given = (node.arguments ?? []).map(({ name, value }) => `${name.value}:${print(sortValueNode(value))}`);
      this.#arguments.set(node, (text = given.sort().join()));
    }
    return text;
  }

  #numberOf(set: SelectionSetNode): number {
    return getOrCreate(this.#numbers, set, () => this.#numbers.size);
  }
}

/**
 * The same lists and nullability, and the same scalar; any two composite types are compatible, as their fields are
 * compared next.
 */
function haveSameShape(one: GraphQLOutputType | undefined, two: GraphQLOutputType | undefined): boolean {
  if (one === two || one === undefined || two === undefined) return true;
  if (isNonNullType(one) || isNonNullType(two)) {
    return isNonNullType(one) && isNonNullType(two) && haveSameShape(one.ofType, two.ofType);
  }
  if (isListType(one) || isListType(two)) {
    return isListType(one) && isListType(two) && haveSameShape(one.ofType, two.ofType);
  }
  return (isCompositeType(one) && isCompositeType(two)) || getNamedType(one).name === getNamedType(two).name;
}

/** Groups fields that one object can have together: those of a type and of the interfaces it may implement. */
function byCommonParent(occurrences: Occurrences): readonly Occurrences[] {
  if (occurrences.length === 1) return [occurrences];
  const concrete = new Map<string, [Occurrence, ...Occurrence[]]>();
  const abstract: Occurrence[] = [];
  for (const occurrence of occurrences) {
    const { parent } = occurrence;
    const group = concrete.get(parent.name);
    if (!isObjectType(parent)) abstract.push(occurrence);
    else if (group === undefined) concrete.set(parent.name, [occurrence]);
    else group.push(occurrence);
  }
  if (concrete.size <= 1) return [occurrences];
  return [...concrete.values()].map((group): Occurrences => [...group, ...abstract]);
}

function insideOf(occurrences: Occurrences): readonly FieldScope[] {
  return occurrences.flatMap(({ node, type }) => {
    const named = type === undefined ? undefined : getNamedType(type);
    return node.selectionSet === undefined || !isCompositeType(named) ? [] : { type: named, set: node.selectionSet };
  });
}

/** Undefined for unknown fields, which other rules report. */
function fieldTypeOf(parent: GraphQLCompositeType, name: string): GraphQLOutputType | undefined {
  const meta = META_FIELDS.get(name);
  if (meta !== undefined) return meta.type;
  return 'getFields' in parent ? parent.getFields()[name]?.type : undefined;
}

/** The introspection fields, which no type lists. */
const META_FIELDS = new Map(
  [TypeNameMetaFieldDef, SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);

import { Container } from '../../fhir/container.js';
import type {
  PathExpression,
  SearchParameterDefinition,
  SearchParameterType,
} from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, inlineNames, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { compilePath, type Position, type Visitor } from './element-path.js';
import type { IndexEntry } from './index-entry.js';
import { compileExpression } from './index-expression.js';
import { valueIndexer } from './index-values.js';
import { IndexWriter } from './index-writer.js';
import { insideGroup, insideParameter } from './inside.js';

/** Parameters that stores keep in the resource's row. */
const HELD_APART: ReadonlySet<string> = new Set(['_id', '_lastUpdated']);

/**
 * Extracts all index entries of a resource. An absolute reference below the base of the model has the entry of the
 * relative one.
 *
 * `_id` and `_lastUpdated` are excluded: stores keep them in the resource's row. Malformed elements are skipped, so
 * this never throws for data of any shape; an unknown type has no entries.
 *
 * @example
 * indexEntries({ resourceType: 'Patient', active: true })
 * // [{ parameter: 'active', group: 0, value: { kind: 'token', code: 'true' } }, …]
 */
export function indexEntries(model: FhirModel, resource: AnyResource): IndexEntry[] {
  const writer = new IndexWriter(model, elementsOf(resource), Container.of(model, resource));
  for (const index of indexersOf(model, resource.resourceType)) index(writer.resource, writer);
  if (model.isResourceType(resource.resourceType)) addSecurityLabels(writer);
  // Few resources contain others.
  if (writer.insides.found.length > 0) addInside(model, writer);
  return writer.entries;
}

/** Adds the entries of contained resources, recursively. */
function addInside(model: FhirModel, { insides, entries }: IndexWriter): void {
  for (const { number, type, resource, container } of insides.found) {
    const writer = new IndexWriter(model, resource, container, insides);
    for (const index of indexersOf(model, type)) index(resource, writer);
    for (const { parameter, group, value } of writer.entries) {
      const inside = insideGroup(number, group);
      if (inside !== undefined) entries.push({ parameter: insideParameter(type, parameter), group: inside, value });
    }
  }
}

type Indexer = Visitor<IndexWriter>;

// Compiled once per type; bounded by the number of FHIR types.
const INDEXERS = perModel(() => new Map<string, readonly Indexer[]>());

function indexersOf(model: FhirModel, type: string): readonly Indexer[] {
  const known = INDEXERS(model);
  let indexers = known.get(type);
  if (indexers === undefined) {
    if (!model.isResourceType(type)) return [];
    indexers = [...model.searchParameters(type).values()].flatMap(
      (parameter) => compileParameter(model, type, parameter) ?? [],
    );
    known.set(type, indexers);
  }
  return indexers;
}

function compileParameter(model: FhirModel, type: string, parameter: SearchParameterDefinition): Indexer | undefined {
  if (HELD_APART.has(parameter.code)) return undefined;
  const isComposite = parameter.components !== undefined;
  const visit = isComposite ? compileComposite(model, type, parameter) : compileValues(model, { type }, parameter);
  if (visit === undefined) return undefined;
  return (resource, writer) => {
    writer.begin(parameter.code, 0, parameter.words);
    writer.resetGroups();
    visit(resource, writer);
  };
}

interface ValueExpression {
  readonly type: SearchParameterType;
  readonly expression: string;
  readonly path?: PathExpression;
}

function compileValues(
  model: FhirModel,
  from: Position,
  { type, expression, path }: ValueExpression,
): Indexer | undefined {
  if (path === undefined) return compileExpression(model, from.type, expression, type);
  return compilePath(model, from.type, path, (position) => valueIndexer(model, type, position.type, position.element));
}

/**
 * Adds one group per result of the expression: the values of its components; a group with a missing component is
 * dropped.
 */
function compileComposite(model: FhirModel, type: string, parameter: SearchParameterDefinition): Indexer | undefined {
  const components = parameter.components ?? [];
  const codes = components.map((_, index) => `${parameter.code}$${index}`);
  return compilePath<IndexWriter>(model, type, parameter.path ?? [], (position) => {
    const visits = components.map((component) => compileValues(model, position, component));
    if (!visits.every((visit) => visit !== undefined)) return undefined;
    return (value, writer) => {
      const start = writer.entries.length;
      const group = writer.nextGroup();
      for (let index = 0; index < visits.length; index++) {
        const before = writer.entries.length;
        writer.begin(codes[index]!, group);
        visits[index]!(value, writer);
        if (writer.entries.length > before) continue;
        writer.dropGroup(start);
        return;
      }
    };
  });
}

/** The parameter under which the labels of a resource and of the resources that it contains are indexed. */
export const SECURITY_LABELS = '_security:labels';

/**
 * Adds the labels (`meta.security`) of a resource and of all resources that it contains, at any depth: a caller who is
 * not cleared for one of them does not see the resource. A label that is not a Coding has neither system nor code.
 */
function addSecurityLabels(writer: IndexWriter): void {
  const { resource } = writer;
  const labels: unknown[] = [];
  collect(resource, labels);
  if (labels.length === 0) return;
  writer.begin('_security', 0);
  for (const label of labels) {
    const { system, code } = isJsonObject(label) ? label : {};
    writer.addBeside(':labels', {
      kind: 'token',
      ...(typeof system === 'string' ? { system } : {}),
      ...(typeof code === 'string' ? { code } : {}),
    });
  }
}

function collect(value: JsonObject, labels: unknown[]): void {
  const { meta } = value;
  const isResource = typeof value['resourceType'] === 'string';
  const security = isResource && isJsonObject(meta) ? meta.security : undefined;
  if (security !== undefined && security !== null) labels.push(...(Array.isArray(security) ? security : [security]));
  for (const name of inlineNames(value)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held === undefined) continue;
    for (const one of Array.isArray(held) ? (held as readonly unknown[]) : [held]) {
      if (isJsonObject(one)) collect(one, labels);
    }
  }
}

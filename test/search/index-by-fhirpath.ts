import { loadFhirPath } from '../../src/fhirpath/library.js';
import { Container } from '../../src/fhir/container.js';
import type { AnyResource } from '../../src/index.js';
import {
  indexEntries,
  type IndexEntry,
  R4,
  type SearchParameterDefinition,
  type SearchParameterType,
} from '../../src/store.js';
import { elementsOf, type JsonObject } from '../../src/fhir/resource.js';
import { compileTypedFhirPath, type TypedValue } from '../../src/fhirpath/compile.js';
import { valueIndexer } from '../../src/search/index/index-values.js';
import { IndexWriter } from '../../src/search/index/index-writer.js';

await loadFhirPath();

/** The entries of a resource if the FHIRPath library evaluates every expression. They must equal {@link indexEntries}. */
export function indexEntriesByFhirPath(resource: AnyResource): IndexEntry[] {
  const writer = new IndexWriter(R4, elementsOf(resource), Container.of(R4, resource));
  for (const parameter of R4.searchParameters(resource.resourceType).values()) {
    if (parameter.code === '_id' || parameter.code === '_lastUpdated') continue;
    if (parameter.components === undefined) {
      writer.begin(parameter.code, 0);
      const values = evaluate(parameter.expression, undefined, resource, writer.resource);
      // Names of types are codes, which the library does not distinguish from strings.
      const isTypeName = parameter.expression.endsWith('.resourceType');
      addValues(isTypeName ? values.map(({ value }) => ({ value, type: 'code' })) : values, parameter.type, writer);
    } else {
      addComposite(parameter, writer);
    }
  }
  return withoutInside(writer.entries);
}

function withoutInside(entries: readonly IndexEntry[]): IndexEntry[] {
  return entries.filter(({ parameter }) => !parameter.includes('#') && !parameter.endsWith(':present'));
}

function addComposite(parameter: SearchParameterDefinition, writer: IndexWriter): void {
  writer.resetGroups();
  for (const outer of evaluate(parameter.expression, undefined, writer.resource, writer.resource)) {
    const start = writer.entries.length;
    const group = writer.nextGroup();
    const type = baseType(parameter, outer, writer.resource);
    for (const [index, component] of parameter.components!.entries()) {
      const before = writer.entries.length;
      writer.begin(`${parameter.code}$${index}`, group);
      addValues(evaluate(component.expression, type, outer.value, writer.resource), component.type, writer);
      if (writer.entries.length > before) continue;
      writer.dropGroup(start);
      break;
    }
  }
}

/** `Observation.component` is a BackboneElement to the library; its expressions start at ObservationComponent. */
function baseType(parameter: SearchParameterDefinition, outer: TypedValue, resource: JsonObject): string {
  if (outer.type !== 'BackboneElement') return outer.type;
  const names = parameter.path!.at(-1)!.map((step) => step as string);
  return [resource.resourceType as string, ...names].map((name) => name[0]!.toUpperCase() + name.slice(1)).join('');
}

function addValues(values: readonly TypedValue[], type: SearchParameterType, writer: IndexWriter): void {
  for (const { value, type: fhirType } of values) valueIndexer(R4, type, fhirType)?.(value, writer);
}

function evaluate(expression: string, type: string | undefined, input: unknown, resource: JsonObject): TypedValue[] {
  return compileTypedFhirPath(R4, expression, type)(input, { resource });
}

/**
 * Without values that need static types, the system of a bound `code`, and without resources inside, which the library does
 * not reach through references.
 */
export function withoutBoundSystems(resource: AnyResource): IndexEntry[] {
  const entries = withoutInside(indexEntries(R4, resource));
  return entries.filter((entry, index) => !isSystemTwin(entry, entries[index - 1]));
}

function isSystemTwin(entry: IndexEntry, before: IndexEntry | undefined): boolean {
  const [left, right] = [before?.value, entry.value];
  if (left?.kind !== 'token' || right.kind !== 'token' || before?.parameter !== entry.parameter) return false;
  return left.system === undefined && left.code === right.code && left.texts === undefined && right.texts === undefined;
}

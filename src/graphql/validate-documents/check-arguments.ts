import type { ItemControl, ListControl } from '../schema/arguments.js';
import { type FhirError, maskError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { compileFhirPath } from '../../fhirpath/compile.js';
import { createParseContext } from '../../search/parse/parse-context.js';
import { parseFilterIn } from '../../search/parse/filter/parse-filter.js';
import { parseParameterIn } from '../../search/parse/parse-parameter.js';
import { parseSort } from '../../search/parse/parse-search.js';
import { itemTypeOf, pageNumber } from '../execute/item-list.js';
import type { Limits } from '../limits.js';
import { evaluate, evaluateSingle, evaluateTexts, type Argument, type Variables } from '../plan/arguments.js';
import type { ElementFilter, Location, HostValuePlan, PlannedField, SearchEdge, Selection } from '../plan/plan.js';
import { assertPageSize } from '../execute/search-request.js';
import { RESOURCE } from '../schema/fields.js';
import type { TypedSelections } from '../plan/plan-cache.js';
import { selectedTypes, selectionFor } from '../explain/walk-plan.js';

/** An argument that no execution of the document accepts. */
interface ArgumentFault {
  readonly error: FhirError;
  readonly location: Location | undefined;
}

/** The context of the check. */
interface ArgumentContext {
  readonly model: FhirModel;
  readonly limits: Limits;
  /** Variables with a known value: a default or an example. Arguments with other variables are not checked. */
  readonly variables: Variables;
  readonly selections: TypedSelections;
}

/**
 * Finds the arguments that execution would refuse for any data: search values, `_sort`, `_filter`, page sizes and
 * FHIRPath. GraphQL's validation checks only that they are strings and numbers.
 */
export function checkArguments(root: Selection, context: ArgumentContext): readonly ArgumentFault[] {
  const faults: ArgumentFault[] = [];
  const now = new Date();
  const seen = new Set<Selection>();
  const pending: Selection[] = [root];
  for (let selection = pending.pop(); selection !== undefined; selection = pending.pop()) {
    if (seen.has(selection)) continue;
    seen.add(selection);
    for (const field of selection.fields) {
      for (const check of checksOf(field, selection.type, context, now)) {
        try {
          check();
        } catch (error) {
          faults.push({ error: maskError(error), location: field.location });
        }
      }
      pending.push(...selectionsOf(field, context));
    }
  }
  return faults;
}

type Check = () => void;

function checksOf(field: PlannedField, type: string, context: ArgumentContext, now: Date): readonly Check[] {
  switch (field.kind) {
    case 'changes':
      return searchChecks(field.search, context, now);
    case 'search':
      return [...searchChecks(field, context, now), ...sliceChecks(field, field.type, context)];
    case 'object':
      return [...filterChecks(field.filter, context), ...sliceChecks(field, field.selection.type, context)];
    case 'extension':
      return checksOf(field.field, type, context, now);
    case 'inline-resource':
      return [...filterChecks(field.filter, context), ...sliceChecks(field, RESOURCE, context)];
    default:
      return sliceChecks(field, field.kind === 'primitive' ? field.type : type, context);
  }
}

function searchChecks(edge: SearchEdge, context: ArgumentContext, now: Date): readonly Check[] {
  const { model, variables } = context;
  const { type } = edge;
  const parsing = createParseContext(model, { modifiers: false, now });
  return [
    ...edge.parameters.map(({ code, values }) => () => {
      const texts = isKnown(values, variables) ? evaluateTexts(values, variables) : undefined;
      if (texts !== undefined) parseParameterIn(parsing, type, code, texts);
    }),
    ...given(edge.controls, variables).map(([name, argument]) => () => {
      LIST_CHECKS[name](argument, { type, parsing, ...context });
    }),
  ];
}

type CheckControl<Context> = (argument: Argument, context: Context & ArgumentContext) => void;

interface ListContext {
  readonly type: string;
  readonly parsing: ReturnType<typeof createParseContext>;
}

/** A check of each argument of lists and connections; without one, a new argument does not compile. */
const LIST_CHECKS: { readonly [Name in ListControl]: CheckControl<ListContext> } = {
  _filter: (argument, { parsing, type, variables }) => {
    for (const text of evaluateTexts(argument, variables) ?? []) parseFilterIn(parsing, type, text);
  },
  _sort: (argument, { model, type, variables }) => {
    const sort = evaluateTexts(argument, variables);
    if (sort !== undefined) parseSort(model, type, sort);
  },
  _count: (argument, { variables, limits }) => assertPageSize(pageNumber('_count', argument, variables), limits),
  _offset: (argument, { variables }) => void pageNumber('_offset', argument, variables),
  fhirpath: (argument, context) => expressionCheck('fhirpath', argument, context.type, context)(),
};

/** The same for those of repeating elements. */
const ITEM_CHECKS: { readonly [Name in ItemControl]: CheckControl<{ readonly type: string }> } = {
  _count: (argument, { variables }) => void pageNumber('_count', argument, variables),
  _offset: (argument, { variables }) => void pageNumber('_offset', argument, variables),
  fhirpath: (argument, context) => expressionCheck('fhirpath', argument, context.type, context)(),
};

function filterChecks(filter: ElementFilter | undefined, context: ArgumentContext): readonly Check[] {
  if (filter === undefined) return [];
  const type = itemTypeOf(context.model, filter);
  return given(filter.controls, context.variables).map(([name, argument]) => () => {
    ITEM_CHECKS[name](argument, { type, ...context });
  });
}

/** The arguments whose values are known. */
function given<Name extends string>(
  controls: { readonly [name in Name]?: Argument },
  variables: Variables,
): readonly (readonly [name: Name, argument: Argument])[] {
  const all = Object.entries(controls) as [Name, Argument][];
  return all.filter(([, argument]) => isKnown(argument, variables));
}

function sliceChecks({ shaping }: PlannedField, type: string, context: ArgumentContext): readonly Check[] {
  if (shaping?.slice === undefined) return [];
  if (isKnown(shaping.slice, context.variables) && evaluate(shaping.slice, context.variables) === '$index') return [];
  return [expressionCheck('path', shaping.slice, type, context)];
}

function expressionCheck(
  name: string,
  argument: Argument | undefined,
  type: string,
  { model, variables }: ArgumentContext,
): Check {
  return () => {
    const expression = isKnown(argument, variables) ? evaluateSingle(name, argument, variables) : undefined;
    if (expression !== undefined) compileFhirPath(model, String(expression), type);
  };
}

/** Whether an argument is given and its value is the same in every execution. */
function isKnown(argument: Argument | undefined, variables: Variables): argument is Argument {
  switch (argument?.kind) {
    case undefined:
      return false;
    case 'variable':
      return Object.hasOwn(variables, argument.name);
    case 'list':
      return argument.items.every((item) => isKnown(item, variables));
    default:
      return true;
  }
}

/** The selections below a field. */
function selectionsOf(field: PlannedField, { variables, selections }: ArgumentContext): readonly Selection[] {
  switch (field.kind) {
    case 'object':
    case 'write':
    case 'read':
      return [field.selection];
    case 'extension':
      return field.field.kind === 'object' ? [field.field.selection] : [];
    case 'choice':
      return field.forms.flatMap((form) => (form.kind === 'object' ? [form.selection] : []));
    case 'host':
    case 'host-write':
    case 'host-property':
      return selectionsOfValue(field.value);
    case 'inline-resource':
      return Object.values(field.selections.named);
    case 'reference': {
      const type = evaluate(field.type, variables);
      const possible = typeof type === 'string' ? [type] : (field.targets ?? []);
      return selectedTypes(field.selections, possible).map((name) => selectionFor(field.selections, name, selections));
    }
    case 'changes':
      return [field.search.shape.selection];
    case 'search': {
      const { shape } = field;
      if (shape.kind === 'list') return [shape.selection];
      return shape.fields.flatMap((part) =>
        part.part === 'edges'
          ? part.fields.flatMap((inner) => (inner.part === 'resource' ? [inner.selection] : []))
          : [],
      );
    }
    default:
      return [];
  }
}

function selectionsOfValue(value: HostValuePlan): readonly Selection[] {
  if (value.kind === 'leaf') return [];
  if (value.kind === 'object') return [value.selection];
  const { selection, selections } = value.edge;
  return selection === undefined ? Object.values(selections?.named ?? {}) : [selection];
}

import type { AnyResource } from '../../src/index.js';
import type { ElementDefinition, FhirModel, SearchParameterType } from '../../src/store.js';
import { below, oneOf } from '../support/kit.js';
import { valueIndexer } from '../../src/search/index/index-values.js';
import { searchParameter } from './search-parameters.js';

const TYPES = ['token', 'date', 'number', 'quantity', 'reference', 'uri', 'string'] as const;

/** Elements that the test data do not have. */
const SKIPPED: ReadonlySet<string> = new Set(['contained', 'extension', 'modifierExtension', 'resource', 'text']);

/** Search parameters over elements of these types, chosen at random: paths, filters, functions, composites. */
export function randomParameters(
  model: FhirModel,
  types: readonly string[],
  count: number,
  random: () => number,
): readonly AnyResource[] {
  return Array.from({ length: count }, (_, index) => {
    const base = oneOf(types, random);
    return random() < 0.2
      ? randomComposite(model, base, `own-${index}`, random)
      : randomSimple(model, base, `own-${index}`, random);
  });
}

function randomSimple(model: FhirModel, base: string, code: string, random: () => number): AnyResource {
  for (;;) {
    const { path, end } = randomWalk(model, base, 1 + below(3, random), random);
    const type = parameterTypeOf(model, end, random);
    if (type === undefined) continue;
    const plain = [base, ...path].join('.');
    const forms = [
      plain,
      plain,
      `${plain}.first()`,
      `${plain}.where($this.exists())`,
      `(${plain} | ${plain})`,
      `${plain}.skip(1)`,
    ];
    return searchParameter({ code, base, type, expression: oneOf(forms, random) });
  }
}

function randomComposite(model: FhirModel, base: string, code: string, random: () => number): AnyResource {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { path, end } = randomWalk(model, base, 1, random);
    if (model.typeDefinition(end.type)?.kind !== 'complex') continue;
    const components = [...model.typeDefinition(end.type)!.elements.values()].filter(
      (element) => COMPONENTS.has(element.type) && element.choiceOf === undefined,
    );
    if (components.length < 2) continue;
    const chosen = [oneOf(components, random), oneOf(components, random)];
    return searchParameter({
      code,
      base,
      type: 'composite',
      expression: [base, ...path].join('.'),
      component: chosen.map(({ name }) => ({ definition: 'https://nowhere.example/inferred', expression: name })),
    });
  }
  return randomSimple(model, base, code, random);
}

const COMPONENTS: ReadonlySet<string> = new Set([
  ...[
    'CodeableConcept',
    'Coding',
    'code',
    'boolean',
    'date',
    'dateTime',
    'Period',
    'decimal',
    'Quantity',
    'string',
    'uri',
  ],
]);

interface Walk {
  readonly path: readonly string[];
  readonly end: ElementDefinition;
}

function randomWalk(model: FhirModel, from: string, length: number, random: () => number): Walk {
  const path: string[] = [];
  let type = from;
  for (;;) {
    const elements = [...(model.typeDefinition(type)?.elements.values() ?? [])].filter(
      ({ name }) => !SKIPPED.has(name),
    );
    const end = oneOf(elements, random);
    path.push(end.choiceOf === undefined ? end.name : `${end.choiceOf}.ofType(${end.type})`);
    type = end.type;
    const hasElements = (model.typeDefinition(type)?.kind ?? 'primitive') === 'complex';
    if (path.length >= length || !hasElements) return { path, end };
  }
}

function parameterTypeOf(
  model: FhirModel,
  { type }: ElementDefinition,
  random: () => number,
): SearchParameterType | undefined {
  const isText = model.typeDefinition(type)?.kind === 'primitive' && !NO_TEXTS.has(type);
  const fitting = TYPES.filter((one) => {
    if (one === 'uri') return isText;
    if (one === 'string') return isText || type === 'HumanName' || type === 'Address';
    return valueIndexer(model, one, type) !== undefined;
  });
  return fitting.length === 0 ? undefined : oneOf(fitting, random);
}

const NO_TEXTS: ReadonlySet<string> = new Set(['boolean', 'integer', 'positiveInt', 'unsignedInt', 'decimal']);

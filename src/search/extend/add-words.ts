import type { ParameterRow } from '../../fhir/model/definition-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import type { DefinitionProblems } from './problems.js';

/** The parameters of all types, with a mark on those to be indexed by word. */
export function addWords(
  model: FhirModel,
  words: true | readonly string[],
  problems: DefinitionProblems,
): FhirModel['texts']['parameters'] {
  const chosen = words === true ? undefined : chosenCodes(model, words, problems);
  const { parameters } = model.texts;
  return Object.fromEntries(
    Object.entries(parameters).map(([type, text]) => {
      const codes = chosen?.get(type);
      if (chosen !== undefined && codes === undefined) return [type, text];
      const rows = JSON.parse(text) as readonly ParameterRow[];
      const marked = rows.map((row): ParameterRow =>
        row.type === 'string' && codes?.has(row.code) !== false ? { ...row, words: true } : row,
      );
      return [type, JSON.stringify(marked)];
    }),
  );
}

/** Codes by type. */
function chosenCodes(
  model: FhirModel,
  words: readonly string[],
  problems: DefinitionProblems,
): ReadonlyMap<string, ReadonlySet<string>> {
  const chosen = new Map<string, Set<string>>();
  words.forEach((name, index) => {
    const [, type = '', code = ''] = /^(\w+)\.([\w-]+)$/.exec(name) ?? [];
    const parameter = model.searchParameter(type, code);
    if (parameter?.type === 'string') {
      chosen.set(type, (chosen.get(type) ?? new Set()).add(code));
      return;
    }
    const strings = [...model.searchParameters(type).values()].filter((one) => one.type === 'string');
    const suggestion = didYouMean(
      code,
      strings.map((one) => one.code),
    );
    problems.add(
      `words[${index}]`,
      parameter === undefined
        ? `${quote(name)} is not a search parameter of a resource type, such as Organization.name.${suggestion}`
        : `${quote(name)} is of type ${parameter.type}; only string parameters can be indexed by word`,
    );
  });
  return chosen;
}

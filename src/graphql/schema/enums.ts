import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import { codeNames, type CodeNames } from './code-names.js';
import { hasEnums } from './host/service-model.js';

/** The enum of a required binding. */
export interface EnumDefinition {
  readonly name: string;
  readonly description: string;
  readonly values: CodeNames;
}

/** The enum of an element; undefined for elements other than codes with a required binding. */
export function enumOf(model: FhirModel, element: ElementDefinition): EnumDefinition | undefined {
  return element.type === 'code' && element.codes !== undefined ? ENUMS(model).byCodes.get(element.codes) : undefined;
}

/** The enum with this name; undefined for other names. */
export function enumNamed(model: FhirModel, name: string): EnumDefinition | undefined {
  return ENUMS(model).byName.get(name);
}

/**
 * The names of an element's codes in answers and inputs; undefined if its codes are plain strings.
 *
 * PERF (start): unlike {@link enumOf}, it does not read the definitions of all types.
 */
export function namesOfCodes(model: FhirModel, { type, codes }: ElementDefinition): CodeNames | undefined {
  return type === 'code' && codes !== undefined && hasEnums(model) ? codeNames(codes) : undefined;
}

/**
 * One enum per required binding, called after the code system (`http://hl7.org/fhir/administrative-gender` is
 * `AdministrativeGender`) or, where codes have several systems, after the first element.
 */
const ENUMS = perModel((model) => {
  const byCodes = new Map<readonly string[], EnumDefinition>();
  const byName = new Map<string, EnumDefinition>();
  for (const owner of [...model.typeNames].sort()) {
    for (const { type, name, codes, codeSystem } of model.typeDefinition(owner)?.elements.values() ?? []) {
      if (type !== 'code' || codes === undefined || byCodes.has(codes)) continue;
      const free = freeName(owner, name, codeSystem, (one) => byName.has(one) || isTaken(model, one));
      const description = codeSystem === undefined ? `Codes of ${owner}.${name}` : `Codes of ${codeSystem}`;
      const definition = { name: free, description, values: codeNames(codes) };
      byCodes.set(codes, definition);
      byName.set(free, definition);
    }
  }
  return { byCodes, byName };
});

function freeName(
  owner: string,
  element: string,
  codeSystem: string | undefined,
  isTaken: (name: string) => boolean,
): string {
  const bySystem = codeSystem === undefined ? '' : pascalCase(codeSystem.split('/').at(-1)!);
  if (/^[A-Z]\w*$/.test(bySystem) && !isTaken(bySystem)) return bySystem;
  const byElement = `${owner}${pascalCase(element)}`;
  let name = byElement;
  for (let number = 1; isTaken(name); number += 1) name = `${byElement}Code${number === 1 ? '' : number}`;
  return name;
}

function isTaken(model: FhirModel, name: string): boolean {
  return model.typeDefinition(name) !== undefined || extensionFieldsOf(model).type(name) !== undefined;
}

function pascalCase(text: string): string {
  return text
    .split(/[^0-9A-Za-z]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

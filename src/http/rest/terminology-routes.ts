import { expandAll, withinTime } from '../../access/terminology/expand-concepts.js';
import { MAX_FOUND } from '../../access/terminology/search-terminology.js';
import { FhirError } from '../../fhir/error.js';
import { readResource } from '../../repository/open-repository.js';
import type { RepositorySession } from '../../repository/repository.js';
import { elementsOf } from '../../fhir/resource.js';
import { type Concept, needsTerminology } from '../../search/criteria/criteria.js';
import { fold } from '../../search/index/fold.js';
import type { Terminology, TerminologyContext } from '../../store/terminology.js';
import type { Answer } from '../exchange/answer.js';
import { type CallerExchange, repositoryFor, type Route } from '../exchange/exchange.js';
import { readOperation } from '../exchange/read-body.js';
import { answerResource } from './answer-resource.js';

type DefinitionType = 'ValueSet' | 'CodeSystem';
type Parameters = { readonly [name: string]: string | undefined };

/** A terminology as the caller sees it. */
interface OpenTerminology {
  readonly terminology: Terminology;
  readonly context: Omit<TerminologyContext, 'signal'>;
  readonly options: RepositorySession['options'];
  /** The canonical URL of the definition that the path names; undefined without one. */
  readonly url: string | undefined;
}

/** FHIR's operations over the terminology of the service. See https://hl7.org/fhir/R4/terminology-service.html. */
export const TERMINOLOGY_ROUTES: readonly Route[] = [
  ...operation('ValueSet', '$expand', ['url', 'valueSetVersion', 'filter', 'count', 'offset'], expand),
  ...operation('ValueSet', '$validate-code', ['url', 'valueSetVersion', 'code', 'system', 'display'], validateInSet),
  ...operation('CodeSystem', '$validate-code', ['url', 'version', 'code', 'system', 'display'], validateInSystem),
  ...operation('CodeSystem', '$lookup', ['system', 'version', 'code', 'display'], lookUp).filter(
    ({ path }) => !path.includes(':id'),
  ),
  ...operation('CodeSystem', '$subsumes', ['system', 'version', 'codeA', 'codeB'], subsumes),
];

/** An operation of a type and of its instances, by GET and POST alike. */
function operation(
  type: DefinitionType,
  name: string,
  names: readonly string[],
  carryOut: (asked: Parameters, open: OpenTerminology) => Promise<object>,
): Route[] {
  return [`${type}/${name}`, `${type}/:id/${name}`].flatMap((path) =>
    (['GET', 'POST'] as const).map((method): Route => ({
      group: 'operations',
      method,
      root: 'fhir',
      path,
      parameters: 'checked',
      async answer(exchange) {
        const asked = Object.fromEntries(await readOperation(exchange, names));
        return answer(exchange, type, (open) => carryOut(asked, open));
      },
    })),
  );
}

async function answer(
  exchange: CallerExchange,
  type: DefinitionType,
  carryOut: (open: OpenTerminology) => Promise<object>,
): Promise<Answer> {
  const { path, settings } = exchange;
  const target = path.id === '' ? { type } : { type, id: path.id };
  const made = await repositoryFor(exchange).interact('search', target, async (_, session) => {
    const { terminology } = settings.store;
    if (terminology === undefined) throw needsTerminology();
    const { store, options } = session;
    const search: TerminologyContext['search'] = async (searched, criteria) => {
      const { matches } = await store.search({ type: searched, criteria, limit: MAX_FOUND }, options);
      return matches.map(({ resource }) => resource);
    };
    const url = path.id === '' ? undefined : await urlOf(type, path.id, session);
    return carryOut({ terminology, context: { project: store.caller.project, search }, options, url });
  });
  return answerResource(made);
}

async function urlOf(type: DefinitionType, id: string, session: RepositorySession): Promise<string> {
  const { url } = elementsOf(await readResource({ type, id }, session));
  if (typeof url === 'string') return url;
  throw new FhirError('invalid', `The ${type} has no url, so it cannot be used`);
}

/** See https://hl7.org/fhir/R4/valueset-operation-expand.html. */
async function expand(asked: Parameters, open: OpenTerminology): Promise<object> {
  const url = canonicalOf(asked, open);
  const all = await conceptsOf(url, open);
  const words = fold(asked['filter'] ?? '').split(/\s+/);
  const found = all.filter((concept) => words.every((word) => fits(concept, word)));
  const offset = wholeNumber('offset', asked['offset']) ?? 0;
  const count = wholeNumber('count', asked['count']) ?? found.length;
  const contains = found.slice(offset, offset + count).map(({ system, code, display }) => ({
    ...(system === undefined ? {} : { system }),
    code,
    ...(display === undefined ? {} : { display }),
  }));
  const expansion = { timestamp: new Date().toISOString(), total: found.length, offset };
  return {
    resourceType: 'ValueSet',
    url: url.split('|', 1)[0],
    status: 'active',
    expansion: { ...expansion, ...(contains.length === 0 ? {} : { contains }) },
  };
}

/** Whether a word of the filter begins a word of the display, or the code. */
function fits({ code, display = '' }: Concept, word: string): boolean {
  return fold(code).startsWith(word) || ` ${fold(display)}`.includes(` ${word}`);
}

function wholeNumber(name: string, value: string | undefined): number | undefined {
  if (value === undefined || /^\d{1,9}$/.test(value)) return value === undefined ? undefined : Number(value);
  throw new FhirError('invalid', `"${name}" takes a whole number`);
}

/** See https://hl7.org/fhir/R4/valueset-operation-validate-code.html. */
async function validateInSet(asked: Parameters, open: OpenTerminology): Promise<object> {
  const code = required(asked, 'code');
  const { system } = asked;
  const concepts = await conceptsOf(canonicalOf(asked, open), open);
  return validation(
    concepts.find((one) => one.code === code && (system === undefined || one.system === system)),
    asked['display'],
    'The code is not in the value set',
  );
}

/** See https://hl7.org/fhir/R4/codesystem-operation-validate-code.html. */
async function validateInSystem(asked: Parameters, open: OpenTerminology): Promise<object> {
  const system = open.url ?? asked['url'] ?? required(asked, 'system');
  const concept = await find({ ...asked, system }, open);
  return validation(concept, asked['display'], 'The code is not in the code system');
}

function validation(concept: Concept | undefined, display: string | undefined, missing: string): object {
  const isNamed = display === undefined || concept?.display === undefined || fold(display) === fold(concept.display);
  const message = concept === undefined ? missing : isNamed ? undefined : 'The display is not that of the code';
  return parametersOf([
    ['result', 'valueBoolean', message === undefined],
    ['message', 'valueString', message],
    ['display', 'valueString', concept?.display],
  ]);
}

/** See https://hl7.org/fhir/R4/codesystem-operation-lookup.html. */
async function lookUp(asked: Parameters, open: OpenTerminology): Promise<object> {
  const concept = await find(asked, open);
  if (concept === undefined) throw new FhirError('not-found', 'The code system has no such code');
  return parametersOf([
    ['name', 'valueString', required(asked, 'system')],
    ['display', 'valueString', concept.display ?? concept.code],
  ]);
}

/** See https://hl7.org/fhir/R4/codesystem-operation-subsumes.html. */
async function subsumes(asked: Parameters, open: OpenTerminology): Promise<object> {
  const { terminology, context, options, url } = open;
  const system = versioned(url ?? required(asked, 'system'), asked['version']);
  const codes = { codeA: required(asked, 'codeA'), codeB: required(asked, 'codeB') };
  const outcome = await withinTime(options, (signal) =>
    terminology.subsumes({ system, ...codes }, { ...context, signal }),
  );
  return parametersOf([['outcome', 'valueCode', outcome]]);
}

function find(asked: Parameters, { terminology, context, options }: OpenTerminology): Promise<Concept | undefined> {
  const system = versioned(required(asked, 'system'), asked['version']);
  const code = required(asked, 'code');
  return withinTime(options, (signal) => terminology.lookup({ system, code }, { ...context, signal }));
}

async function conceptsOf(
  url: string,
  { terminology, context, options }: OpenTerminology,
): Promise<readonly Concept[]> {
  const expansions = await expandAll(new Map([[url, { kind: 'value-set', url }]]), terminology, context, options);
  return expansions.get(url)!;
}

function canonicalOf(asked: Parameters, { url }: OpenTerminology): string {
  return versioned(url ?? required(asked, 'url'), asked['valueSetVersion']);
}

function versioned(url: string, version: string | undefined): string {
  return version === undefined || url.includes('|') ? url : `${url}|${version}`;
}

function required(asked: Parameters, name: string): string {
  const value = asked[name];
  if (value !== undefined && value !== '') return value;
  throw new FhirError('invalid', `The operation needs "${name}"`);
}

function parametersOf(parts: readonly (readonly [name: string, type: string, value: unknown])[]): object {
  const given = parts.filter(([, , value]) => value !== undefined);
  return { resourceType: 'Parameters', parameter: given.map(([name, type, value]) => ({ name, [type]: value })) };
}

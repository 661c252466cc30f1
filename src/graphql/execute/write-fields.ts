import { failedIndex, type GuardedStore, withoutIndex } from '../../access/contract.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import { FhirError, inDoubt } from '../../fhir/error.js';
import { fromElements, takeElement } from '../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { carryOutWrites } from '../../interactions/carry-out-writes.js';
import type { WriteOutcome, WriteRequest } from '../../interactions/write-request.js';
import type { ExtensionShape } from '../../profiles/extension-shapes.js';
import { LimitError, type Limits } from '../limits.js';
import { evaluateJson, evaluateSingleText, type Variables } from '../plan/arguments.js';
import type { HostEdge, HostWriteField, Selection, WriteField } from '../plan/plan.js';
import { fieldsOf } from '../schema/fields.js';
import { type InputPlace, inputTypeName, PATCH_OPERATION } from '../schema/input-fields.js';
import { coerceHostArguments } from './host/coerce-host-input.js';
import { completeHostValue, noContainer } from './host/complete-host-value.js';
import { callRoot } from './host/fill-host-fields.js';
import { answerHostWrites, hostWrites, type HostWrites } from './host/host-writes.js';
import { projectContained, projectResource } from './project.js';
import { readInput } from './read-input.js';
import { call, type Output, type Run } from './run.js';

/**
 * Executes the fields of a mutation in order and atomically, then selects from the resource that each of them wrote.
 * Selections see the state after the whole mutation.
 *
 * If one field fails, nothing is written: every field is null, and the error has the path of that field. A resource
 * that the caller may write but not read is null without an error.
 *
 * @throws LimitError `writes`
 */
export async function writeFields(root: Selection, run: Run): Promise<Output> {
  const out: Output = {};
  run.selections?.set(out, root);
  const fields: AnyWriteField[] = [];
  for (const field of root.fields) {
    out[field.key] = field.kind === 'typename' ? field.value : null;
    if (field.kind === 'write' || field.kind === 'host-write') fields.push(field);
    else if (field.kind === 'host') await resolveAlone(field, out, run);
    else if (field.kind !== 'typename') throw new Error(`${field.kind} is not allowed at the root of a mutation`);
  }
  assertFewWrites(fields.length, run.options.limits);
  const planned = await planFields(fields, out, run);
  if (planned === undefined) return out;
  assertFewWrites(
    planned.reduce((sum, { requests }) => sum + requests.length, 0),
    run.options.limits,
  );
  const outcomes = await carryOut(planned, out, run);
  if (outcomes === undefined) return out;
  for (const { field, from, requests, writes } of planned) {
    const own = outcomes.slice(from, from + requests.length);
    if (writes !== undefined) answerHostWrites(field as HostWriteField, writes, own, out, run);
    else answerWrite(field as WriteField, own[0]!, out, run);
  }
  return out;
}

type AnyWriteField = WriteField | HostWriteField;

/** A field with its requests. */
interface PlannedWrites {
  readonly field: AnyWriteField;
  readonly requests: readonly WriteRequest[];
  /** Position of its first request. */
  readonly from: number;
  /** Of a field of the host. */
  readonly writes?: HostWrites;
}

/**
 * Runs a field of the host that writes elsewhere. If it times out, the outcome is unknown.
 */
async function resolveAlone(field: HostEdge, out: Output, run: Run): Promise<void> {
  try {
    const { selections, variables } = run.options;
    const args = coerceHostArguments(selections.model, field.field.args, field.args, variables);
    const value = await callRoot(field.field, args, run);
    run.written = true;
    completeHostValue(field, value, out, noContainer(run), run, projectContained);
  } catch (error) {
    if (field.field.type.kind === 'required') run.require(out, field.key);
    run.fail(out, field, isLate(error) ? inDoubt(error) : error);
  }
}

function isLate(error: unknown): error is FhirError {
  return error instanceof FhirError && error.details?.['late'] === true;
}

function answerWrite(field: WriteField, outcome: WriteOutcome, out: Output, run: Run): void {
  if (!('resource' in outcome) || ('unreadable' in outcome && outcome.unreadable === true)) return;
  run.spendRows(1, field.selection);
  out[field.key] = projectResource(field.selection, outcome.resource, run);
}

/** @returns undefined if a field failed, so that nothing is written */
async function planFields(
  fields: readonly AnyWriteField[],
  out: Output,
  run: Run,
): Promise<readonly PlannedWrites[] | undefined> {
  const planned: PlannedWrites[] = [];
  let from = 0;
  for (const field of fields) {
    try {
      const { requests, ...more } = await requestsOf(field, run);
      planned.push({ field, requests, from, ...more });
      from += requests.length;
    } catch (error) {
      run.fail(out, field, error);
      return undefined;
    }
  }
  return planned;
}

async function requestsOf(field: AnyWriteField, run: Run): Promise<Pick<PlannedWrites, 'requests' | 'writes'>> {
  if (field.kind === 'write') {
    const { selections, variables } = run.options;
    return { requests: [writeRequest(selections.model, field, variables)] };
  }
  const writes = await hostWrites(field, run);
  return { requests: writes.requests, writes };
}

/** @returns undefined if a field failed and nothing was written */
async function carryOut(
  planned: readonly PlannedWrites[],
  out: Output,
  run: Run,
): Promise<readonly WriteOutcome[] | undefined> {
  const { onWrites } = run.options;
  const requests = planned.flatMap((one) => one.requests);
  onWrites?.(requests.map(requestedTarget));
  const session = { store: boundedStore(run), options: run.deadline.options };
  try {
    const outcomes = await carryOutWrites(requests, session);
    run.written ||= outcomes.some(hasWritten);
    onWrites?.(outcomes.map((outcome, index) => writtenTarget(outcome, requests[index]!)));
    return outcomes;
  } catch (error) {
    const index = failedIndex(error);
    const failed =
      index === undefined
        ? undefined
        : planned.find(({ from, requests: own }) => index >= from && index < from + own.length);
    if (failed === undefined) throw error;
    run.fail(out, failed.field, withoutIndex(error as FhirError));
    return undefined;
  }
}

/** @throws LimitError `writes` */
export function assertFewWrites(count: number, limits: Limits): void {
  if (count <= limits.writes) return;
  const message = `The mutation has ${count} fields; at most ${limits.writes} may write at once, so split it`;
  throw new LimitError('writes', limits.writes, message, count);
}

function hasWritten(outcome: WriteOutcome): boolean {
  return outcome.status === 'deleted' ? outcome.versionId !== null : outcome.status !== 'matched';
}

function requestedTarget(request: WriteRequest): AuditTarget {
  const { interaction } = request;
  if ('key' in request) return { type: request.key.type, id: request.key.id, interaction };
  const { resourceType, id } = isJsonObject(request.resource) ? request.resource : {};
  return {
    type: String(resourceType),
    interaction,
    ...(interaction === 'update' && typeof id === 'string' ? { id } : {}),
  };
}

function writtenTarget(outcome: WriteOutcome, { interaction }: WriteRequest): AuditTarget {
  if (outcome.status === 'deleted') {
    const { key, versionId } = outcome;
    return { type: key.type, id: key.id, interaction, ...(versionId === null ? {} : { versionId }) };
  }
  const { resourceType: type, id } = outcome.resource;
  const meta = elementsOf(outcome.resource)['meta'];
  const versionId = isJsonObject(meta) ? meta['versionId'] : undefined;
  return {
    type,
    id,
    // A conditional create that finds a match only returns it.
    interaction: outcome.status === 'matched' ? 'read' : interaction,
    ...(typeof versionId === 'string' ? { versionId } : {}),
  };
}

/** Wraps the store with the limits of a request, for code that calls the store itself. */
function boundedStore(run: Run): GuardedStore {
  const { store } = run.options;
  return {
    caller: store.caller,
    model: store.model,
    read: (keys, options) => call(run, () => store.read(keys, options)),
    search: (query, options) => call(run, () => store.search(query, options)),
    searchByReference: (query, parameter, targets, options) =>
      call(run, () => store.searchByReference(query, parameter, targets, options)),
    history: (key, page, options) => call(run, () => store.history(key, page, options)),
    typeHistory: (query, options) => call(run, () => store.typeHistory(query, options)),
    async commit(writes, options) {
      run.spendCall();
      let begun = false;
      const onCommit = (): void => void (begun = true);
      return run.deadline.finish(store.commit(writes, { ...options, onCommit }), () => begun);
    },
  };
}

/**
 * The write requested by a mutation field, with this request's variables.
 *
 * @throws FhirError `invalid` - an argument is missing or malformed
 */
function writeRequest(model: FhirModel, field: WriteField, variables: Variables): WriteRequest {
  const { interaction, type } = field;
  const ifMatch = text('ifMatch', field, variables);
  switch (interaction) {
    case 'create':
      return {
        interaction,
        resource: resourceOf(model, field, variables),
        ifNoneExist: text('ifNoneExist', field, variables),
      };
    case 'update':
      return {
        interaction,
        resource: identified(resourceOf(model, field, variables), field, variables),
        ifMatch,
      };
    case 'patch': {
      const operations = input(model, 'patch', { type: PATCH_OPERATION, array: true }, field, variables);
      return { interaction, key: { type, id: idOf(field, variables) }, operations, ifMatch };
    }
    case 'delete':
      return { interaction, key: { type, id: idOf(field, variables) }, ifMatch };
  }
}

/** The `res` argument. `resourceType` may be omitted; if present, it must match the field. */
function resourceOf(model: FhirModel, field: WriteField, variables: Variables): JsonObject {
  const { type } = field;
  const resource = input(model, 'res', { type: inputTypeName(model, type), array: false }, field, variables);
  if (!isJsonObject(resource)) throw new FhirError('invalid', 'Argument "res" must be given');
  const { resourceType = type, ...elements } = foldExtensions(model, type, resource);
  if (resourceType === type) return { resourceType, ...elements };
  throw new FhirError('invalid', `Argument "res" must be a ${type}; its resourceType names something else`);
}

/** See https://hl7.org/fhir/R4/http.html#update: an id in the resource is the one that is updated. */
function identified(resource: JsonObject, field: WriteField, variables: Variables): JsonObject {
  const id = idOf(field, variables);
  const { id: own = id } = resource;
  if (own === id) return { ...resource, id };
  throw new FhirError('invalid', `The ${field.type} in argument "res" has another id than argument "id"`);
}

function idOf(field: WriteField, variables: Variables): string {
  const id = text('id', field, variables);
  if (id !== undefined) return id;
  throw new FhirError('invalid', 'Argument "id" must be given');
}

function text(name: string, { args }: WriteField, variables: Variables): string | undefined {
  return evaluateSingleText(name, args[name], variables);
}

function input(model: FhirModel, name: string, place: InputPlace, { args }: WriteField, variables: Variables): unknown {
  const { value, faults } = readInput(model, place, evaluateJson(args[name], variables));
  const [fault] = faults;
  if (fault === undefined) return value;
  throw new FhirError('invalid', `Argument "${name}" at "${name}${fault.path}": ${fault.reason}`, {
    issues: faults.map(({ path, reason }) => ({ code: 'invalid', diagnostics: `${name}${path}: ${reason}` })),
  });
}

/**
 * Turns the fields of extensions in a resource back into extensions, which follow those in `extension`. Input of bounded
 * depth, as `readInput` gives it.
 *
 * @throws FhirError `invalid` - `extension` contains an extension that a field also sets
 */
function foldExtensions(model: FhirModel, type: string, resource: JsonObject): JsonObject {
  if (model.profiles.length === 0) return resource;
  return foldObject(model, type, resource, type);
}

function foldObject(model: FhirModel, type: string, object: JsonObject, path: string): JsonObject {
  const fields = fieldsOf(model, type);
  if (fields === undefined) return object;
  const kept: (readonly [string, unknown])[] = [];
  const folded: JsonObject[] = [];
  for (const name of Object.keys(object)) {
    const value = takeElement(object, name);
    const field = fields.get(name);
    if (field?.kind === 'extension') folded.push(...extensionsOf(model, field.shape, value, `${path}.${name}`));
    else if (field?.kind === 'element')
      kept.push([name, foldValue(model, field.element.type, value, `${path}.${name}`)]);
    else kept.push([name, value]);
  }
  if (folded.length === 0) return fromElements(kept);
  const plain = kept.find(([name]) => name === 'extension')?.[1];
  const given = Array.isArray(plain) ? (plain as readonly unknown[]) : [];
  const twice = folded.find(({ url }) => given.some((one) => isJsonObject(one) && one['url'] === url));
  if (twice !== undefined) {
    throw new FhirError(
      'invalid',
      `${path} has the extension ${String(twice['url'])} both in "extension" and as a field; give it once`,
    );
  }
  return fromElements([...kept.filter(([name]) => name !== 'extension'), ['extension', [...given, ...folded]]]);
}

function foldValue(model: FhirModel, type: string, value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => foldValue(model, type, item, path));
  return isJsonObject(value) && model.typeDefinition(type)?.kind === 'complex'
    ? foldObject(model, type, value, path)
    : value;
}

/** The extensions that the value of a field represents. */
function extensionsOf(
  model: FhirModel,
  { url, value: element, type }: ExtensionShape,
  value: unknown,
  path: string,
): readonly JsonObject[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.flatMap((item): JsonObject[] => {
    if (item === null || item === undefined) return [];
    if (element !== undefined)
      return [
        fromElements([
          ['url', url],
          [element.name, foldValue(model, type, item, path)],
        ]),
      ];
    if (!isJsonObject(item)) return [];
    return [fromElements([['url', url], ...entriesOf(foldObject(model, type, item, path))])];
  });
}

function entriesOf(object: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.keys(object).map((name) => [name, takeElement(object, name)]);
}

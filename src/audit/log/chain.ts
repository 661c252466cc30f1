import type { AuditEvent, Extension } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { randomId, sha256Of } from '../../platform/crypto.js';
import { ALL } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';

const AUDIT_CHAIN = OWN_EXTENSIONS.auditChain;

/**
 * The chain of a segment: each event holds the hash of the one before, and its own over its content.
 *
 * ```
 * AuditEvent 20261122T050000123-1a2b3c4d5e6f.000000000002
 *   extension audit-chain: sequence 2 | previous <hash of 1> | hash SHA-256(previous, content without hash and meta)
 * ```
 */
interface Link {
  readonly segment: string;
  readonly sequence: number;
  readonly previous: string;
}

/** The newest event of a segment. A copy outside the store proves that nothing after it was cut off. */
export interface AuditHead {
  readonly segment: string;
  /** From 0 up. */
  readonly sequence: number;
  /** SHA-256 in hex. */
  readonly hash: string;
}

/** The hash before the first event of a segment. */
export const GENESIS = '0'.repeat(64);

/** A new segment: its name begins with the time, so that segments sort by age. */
function segmentName(now: Date, random: string): string {
  return `${now.toISOString().slice(0, 23).replaceAll(/[-:.]/g, '')}-${random.replaceAll('-', '').slice(0, 12)}`;
}

/** The instant, but later than that of a segment, because the clock may have gone backwards. */
function instantAfter(now: Date, segment: string | undefined): Date {
  const time = segment?.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})-.*$/, '$1-$2-$3T$4:$5:$6.$7Z') ?? '';
  const next = Date.parse(time) + 1;
  // A forged name may not contain an instant, or may contain the last possible one.
  return next > now.getTime() && next < LAST_INSTANT ? new Date(next) : now;
}

const LAST_INSTANT = Date.UTC(10_000, 0);

export function eventId({ segment, sequence }: Pick<Link, 'segment' | 'sequence'>): string {
  return `${segment}.${String(sequence).padStart(12, '0')}`;
}

/** @returns undefined for an id that is not of the log */
export function parseEventId(id: string): Pick<Link, 'segment' | 'sequence'> | undefined {
  const [, segment, digits] = /^(\d{8}T\d{9}-[0-9a-f]{12})\.(\d{12})$/.exec(id) ?? [];
  return segment === undefined ? undefined : { segment, sequence: Number(digits) };
}

/** An event with its id and its place in the chain, its text, and its hash. */
interface ChainedEvent {
  readonly event: AuditEvent;
  readonly text: string;
  readonly hash: string;
}

/** The event with its id and its place in the chain. */
export function chained(event: AuditEvent, link: Link): ChainedEvent {
  const parts: Extension[] = [
    { url: 'sequence', valueString: String(link.sequence) },
    { url: 'previous', valueString: link.previous },
  ];
  const linked = inOrder({ ...event, id: eventId(link), extension: [{ extension: parts, url: AUDIT_CHAIN }] });
  const bare = JSON.stringify(linked);
  const hash = hashOf(bare, link.previous);
  linked.extension![0]!.extension!.push({ url: 'hash', valueString: hash });
  // The text is not made twice. The quotes in it are those of members, because JSON escapes all others.
  const end = bare.indexOf(`"url":"previous","valueString":"${link.previous}"}`) + PREVIOUS_LENGTH;
  return {
    event: linked,
    text: `${bare.slice(0, end)},{"url":"hash","valueString":"${hash}"}${bare.slice(end)}`,
    hash,
  };
}

const PREVIOUS_LENGTH = `"url":"previous","valueString":"${GENESIS}"}`.length;

/** The place of a stored event in its chain; undefined if the event does not state one. */
export function linkOf(event: AuditEvent): (Link & { readonly hash: string; readonly isIntact: boolean }) | undefined {
  const named = parseEventId(event.id ?? '');
  const parts = event.extension?.[0]?.extension;
  // An altered event may have any shape.
  if (!Array.isArray(event.extension) || !Array.isArray(parts)) return undefined;
  const [sequence, previous, hash] = parts;
  if (named === undefined || event.extension?.[0]?.url !== AUDIT_CHAIN) return undefined;
  if (sequence?.url !== 'sequence' || previous?.url !== 'previous' || hash?.url !== 'hash') return undefined;
  if (sequence.valueString !== String(named.sequence)) return undefined;
  const { valueString: before = '' } = previous;
  const { valueString: stated = '' } = hash;
  return { ...named, previous: before, hash: stated, isIntact: isAsWritten(event, before, stated) };
}

/** The hash covers everything: an addition to the chain itself or to the metadata of the store is a change too. */
function isAsWritten(event: AuditEvent, previous: string, hash: string): boolean {
  const { meta, ...content } = event;
  const parts = event.extension![0]!.extension!;
  const isChainAlone =
    event.extension!.length === 1 &&
    hasOnly(event.extension![0], ['extension', 'url']) &&
    parts.length === 3 &&
    parts.every((part) => hasOnly(part, ['url', 'valueString']));
  if (!isChainAlone || !hasOnly(meta ?? {}, ['lastUpdated', 'versionId'])) return false;
  const bare = { ...content, extension: [{ extension: parts.slice(0, 2), url: AUDIT_CHAIN }] };
  return hashOf(JSON.stringify(inOrder(bare)), previous) === hash;
}

function hasOnly(value: unknown, names: readonly string[]): boolean {
  return Object.keys(value as object).every((name) => names.includes(name));
}

function hashOf(text: string, previous: string): string {
  return sha256Of(`${previous}\n${text}`);
}

/** The event with the members in the order of their names: stores may keep members in another order. */
function inOrder(event: AuditEvent): AuditEvent {
  return sorted(event, (value) => (isInOrder(value) ? value : sortedDeeply(value))) as AuditEvent;
}

function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let before = '';
  for (const name of Object.keys(value)) {
    if (name < before || !isInOrder((value as JsonObject)[name])) return false;
    before = name;
  }
  return true;
}

function sortedDeeply(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map(sortedDeeply) : sorted(value, sortedDeeply);
}

function sorted(object: object, ofMember: (value: unknown) => unknown): object {
  const copy = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(object).sort()) copy[name] = ofMember((object as JsonObject)[name]);
  return copy;
}

/** Events with their places in the chain, and the head after them. */
export interface LinkedEvents {
  readonly events: readonly AuditEvent[];
  /** Their JSON. */
  readonly texts: readonly string[];
  readonly head: AuditHead;
}

/** The part of the log that one process writes. */
export class Segment {
  private constructor(
    private readonly name: string,
    private last: Pick<AuditHead, 'sequence' | 'hash'> = { sequence: -1, hash: GENESIS },
  ) {}

  /** The newest event. */
  get head(): AuditHead {
    return { segment: this.name, ...this.last };
  }

  /** Begins a segment. Its first event names the newest one before it, so that a segment cannot vanish as a whole. */
  static async open(store: ResourceStore, now: Date, write: (linked: LinkedEvents) => Promise<void>): Promise<Segment> {
    await makeProject(store);
    const { matches } = await store.search({
      project: AUDIT_LOG_PROJECT,
      type: 'AuditEvent',
      criteria: ALL,
      sort: [{ parameter: '_id', descending: true }],
      limit: 1,
    });
    const newest = matches[0] === undefined ? undefined : linkOf(matches[0].resource as unknown as AuditEvent);
    const segment = new Segment(segmentName(instantAfter(now, newest?.segment), randomId()));
    const opening = segment.link([logEvent('segment-opened', now, afterDetail(newest))]);
    await write(opening);
    segment.advance(opening);
    return segment;
  }

  /** Chains events to the newest one. They count from {@link advance} on. */
  link(events: readonly AuditEvent[]): LinkedEvents {
    let { sequence, hash } = this.last;
    const linked = events.map((event) => {
      sequence += 1;
      const one = chained(event, { segment: this.name, sequence, previous: hash });
      hash = one.hash;
      return one;
    });
    return {
      events: linked.map(({ event }) => event),
      texts: linked.map(({ text }) => text),
      head: { segment: this.name, sequence, hash },
    };
  }

  advance({ head: { sequence, hash } }: LinkedEvents): void {
    this.last = { sequence, hash };
  }
}

async function makeProject(store: ResourceStore): Promise<void> {
  const key = { project: SERVER_SCOPE, type: 'Project', id: AUDIT_LOG_PROJECT };
  const [found] = await store.read([key]);
  if (found?.status === 'found') return;
  const resource = { resourceType: 'Project', id: key.id, name: 'Audit log', active: true, strictMode: true };
  try {
    await store.commit([{ kind: 'put', key, resource, expect: { version: null } }]);
  } catch (error) {
    // Another process committed first.
    if (!(error instanceof FhirError) || error.code !== 'precondition-failed') throw error;
  }
}

/**
 * The project of the audit log. Only the log writes its AuditEvents: no caller can change or delete them, not even
 * trusted code or super administrators. Its members, policies and other resources work as in any project.
 */
export const AUDIT_LOG_PROJECT = 'fhirgraph-audit-log';

/** @throws FhirError `forbidden` - the project is that of the audit log, which nobody erases or deletes */
export function assertNotAuditLog(project: string): void {
  if (project === AUDIT_LOG_PROJECT) throw new FhirError('forbidden', 'The audit log cannot be changed');
}

/** True for resources that no caller may write: the events of the log, and its Project. */
export function isOfAuditLog({
  project,
  type,
  id,
}: {
  readonly project: string;
  readonly type: string;
  readonly id: string;
}): boolean {
  if (type === 'AuditEvent') return project === AUDIT_LOG_PROJECT;
  return type === 'Project' && project === SERVER_SCOPE && id === AUDIT_LOG_PROJECT;
}

/** Events about the log itself: it opens and closes a segment, or has lost records. */
export function logEvent(
  display: 'segment-opened' | 'segment-closed' | 'records-lost',
  now: Date,
  detail: readonly { readonly type: string; readonly valueString: string }[] = [],
): AuditEvent {
  return {
    action: 'E',
    agent: [{ altId: 'server', requestor: false }],
    ...(detail.length === 0 ? {} : { entity: [{ detail: [...detail], name: display }] }),
    outcome: display === 'records-lost' ? '8' : '0',
    recorded: now.toISOString(),
    resourceType: 'AuditEvent',
    source: { observer: { display: 'fhirgraph' } },
    subtype: [{ code: 'operation', display, system: 'http://hl7.org/fhir/restful-interaction' }],
    type: { code: '110101', display: 'Audit Log Used', system: 'http://dicom.nema.org/resources/ontology/DCM' },
  };
}

const OPENED = 'segment-opened';

/** What the opening of a segment states about the newest event before it. */
function afterDetail(head: AuditHead | undefined): { type: string; valueString: string }[] {
  if (head === undefined) return [];
  const { segment, sequence, hash } = head;
  return [{ type: 'after', valueString: `${segment} ${sequence} ${hash}` }];
}

/**
 * The event that the opening of a segment follows; undefined for other events, and for an opening that follows no
 * event.
 */
export function headBefore(event: AuditEvent): AuditHead | undefined {
  // An altered event may have any shape.
  const entity = objectsOf(event.entity).find(({ name }) => name === OPENED);
  const text = objectsOf(entity?.['detail']).find(({ type }) => type === 'after')?.['valueString'];
  const [segment, sequence, hash] = typeof text === 'string' ? text.split(' ') : [];
  if (segment === undefined || sequence === undefined || hash === undefined) return undefined;
  return { segment, sequence: Number(sequence), hash };
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isJsonObject) : [];
}

/** True for the event that ends a segment properly. */
export function isClosing({ subtype }: AuditEvent): boolean {
  return subtype?.[0]?.display === 'segment-closed';
}

import type { AuditEvent, Extension } from '@medplum/fhirtypes';
import { OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject } from '../../fhir/resource.js';
import { sha256Of } from '../../platform/sha256.js';

const AUDIT_CHAIN = OWN_EXTENSIONS.auditChain;

/**
 * The chain of a segment: each event holds the hash of the one before, and its own over its content.
 *
 * ```
 * AuditEvent 20261122T050000123-1a2b3c4d5e6f.000000000002
 *   extension audit-chain: sequence 2 | previous <hash of 1> | hash SHA-256(previous, content without hash and meta)
 * ```
 */
export interface Link {
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
export function segmentName(now: Date, random: string): string {
  return `${now.toISOString().slice(0, 23).replaceAll(/[-:.]/g, '')}-${random.replaceAll('-', '').slice(0, 12)}`;
}

export function eventId({ segment, sequence }: Pick<Link, 'segment' | 'sequence'>): string {
  return `${segment}.${String(sequence).padStart(12, '0')}`;
}

/** @returns undefined for an id that is not of the log */
export function parseEventId(id: string): Pick<Link, 'segment' | 'sequence'> | undefined {
  const [, segment, digits] = /^(\d{8}T\d{9}-[0-9a-f]{12})\.(\d{12})$/.exec(id) ?? [];
  return segment === undefined ? undefined : { segment, sequence: Number(digits) };
}

/** The event with its id and its place in the chain. */
export function chained(event: AuditEvent, link: Link): { readonly event: AuditEvent; readonly hash: string } {
  const parts: Extension[] = [
    { url: 'sequence', valueString: String(link.sequence) },
    { url: 'previous', valueString: link.previous },
  ];
  const linked: AuditEvent = { ...event, id: eventId(link), extension: [{ url: AUDIT_CHAIN, extension: parts }] };
  const hash = hashOf(linked, link.previous);
  parts.push({ url: 'hash', valueString: hash });
  return { event: linked, hash };
}

/** The place of a stored event in its chain; undefined if the event does not state one as the log writes it. */
export function linkOf(event: AuditEvent): (Link & { readonly hash: string; readonly isIntact: boolean }) | undefined {
  const named = parseEventId(event.id ?? '');
  const [sequence, previous, hash] = event.extension?.[0]?.extension ?? [];
  if (named === undefined || event.extension?.[0]?.url !== AUDIT_CHAIN) return undefined;
  if (sequence?.url !== 'sequence' || previous?.url !== 'previous' || hash?.url !== 'hash') return undefined;
  if (sequence.valueString !== String(named.sequence)) return undefined;
  const { valueString: before = '' } = previous;
  const { valueString: stated = '' } = hash;
  const { meta: _meta, ...content } = event;
  const bare = { ...content, extension: [{ url: AUDIT_CHAIN, extension: [sequence, previous] }] };
  return { ...named, previous: before, hash: stated, isIntact: hashOf(bare, before) === stated };
}

function hashOf(event: AuditEvent, previous: string): string {
  return sha256Of(`${previous}\n${canonical(event)}`);
}

/** JSON with the members in the order of their names: stores may keep members in another order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    if (value[name] !== undefined) members.push(`${JSON.stringify(name)}:${canonical(value[name])}`);
  }
  return `{${members.join(',')}}`;
}

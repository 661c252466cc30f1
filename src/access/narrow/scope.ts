import type { Interaction } from '../rule.js';

/** A clinical scope of SMART App Launch, version 1 or 2. See https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html. */
export interface Scope {
  /** The scope as the token has it. */
  readonly text: string;
  readonly context: 'patient' | 'user' | 'system';
  /** A resource type, or `*`. */
  readonly type: string;
  readonly interactions: ReadonlySet<Interaction>;
  /** The text after the question mark; empty without one. */
  readonly query: string;
}

const SCOPE = /^(patient|user|system)\/(\*|[A-Z][A-Za-z]*)\.(read|write|\*|(?=[cruds])c?r?u?d?s?)(?:\?(.+))?$/;

const READS: readonly Interaction[] = ['read', 'vread', 'history'];

/** Version 2 grants histories of instances with `r`. */
const OF_LETTERS: { readonly [letter: string]: readonly Interaction[] } = {
  c: ['create'],
  r: READS,
  u: ['update'],
  d: ['delete'],
  s: ['search'],
};

const OF_WORDS: { readonly [word: string]: string } = { read: 'rs', write: 'cud', '*': 'cruds' };

/**
 * @returns undefined for other scopes, such as `openid` and `launch/patient`, and for scopes that no version of SMART
 * defines
 */
export function parseScope(text: string): Scope | undefined {
  const found = SCOPE.exec(text);
  if (found === null) return undefined;
  const [, context, type, granted, query = ''] = found;
  // Version 1 has no constraints.
  const word = OF_WORDS[granted!];
  if (word !== undefined && query !== '') return undefined;
  const interactions = new Set([...(word ?? granted!)].flatMap((letter) => OF_LETTERS[letter]!));
  return { text, context: context as Scope['context'], type: type!, interactions, query };
}

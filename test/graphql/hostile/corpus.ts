import { parse, type DocumentNode } from 'graphql';
import { HOSTILE_ARGUMENTS } from './arguments.js';
import { HOSTILE_EXPRESSIONS } from './fhirpath.js';
import type { HostileDocument } from './hostile-document.js';
import { HOSTILE_MULTIPLICATIONS } from './multiplication.js';
import { HOSTILE_MUTATIONS } from './mutations.js';
import { HOSTILE_OBJECTS } from './parsed.js';
import { HOSTILE_QUESTIONS } from './schema-questions.js';
import { HOSTILE_TEXTS } from './text.js';

const WRITTEN: readonly HostileDocument[] = [
  ...HOSTILE_TEXTS,
  ...HOSTILE_MULTIPLICATIONS,
  ...HOSTILE_ARGUMENTS,
  ...HOSTILE_EXPRESSIONS,
  ...HOSTILE_QUESTIONS,
  ...HOSTILE_MUTATIONS,
  ...HOSTILE_OBJECTS,
];

/** All attacks, and those with meaning as objects also in these forms. */
export const HOSTILE_DOCUMENTS: readonly HostileDocument[] = WRITTEN.flatMap((attack) =>
  attack.parsed === undefined ? [attack] : [attack, parsedAttack(attack), plainAttack(attack)],
);

/** All attacks. Those with meaning as objects alternate between these two forms. */
export const QUICK_DOCUMENTS: readonly HostileDocument[] = WRITTEN.flatMap((attack, index) =>
  attack.parsed === undefined ? [attack] : [attack, index % 2 === 0 ? parsedAttack(attack) : plainAttack(attack)],
);

/** The object has its positions and tokens. */
function parsedAttack(attack: HostileDocument): HostileDocument {
  return { ...attack, name: `${attack.name}, parsed`, make: () => ({ ...attack.make(), query: parsed(attack) }) };
}

/** The object as a build tool stores it: without its source and its number of tokens. */
function plainAttack(attack: HostileDocument): HostileDocument {
  return {
    ...attack,
    name: `${attack.name}, as plain JSON`,
    make: () => ({ ...attack.make(), query: JSON.parse(JSON.stringify(parsed(attack, true))) as DocumentNode }),
  };
}

function parsed(attack: HostileDocument, noLocation = false): DocumentNode {
  const { query } = attack.make();
  return typeof query === 'string' ? parse(query, { noLocation }) : query;
}

/** Maximum length of a name to look up; no entry is longer. */
const MAX_LENGTH = 100;

/**
 * Names that people know from other APIs, with the names in FHIR or this schema. If there are several, the suggestion
 * is the ones that exist where the name is used.
 */
const FIELDS: { readonly [name: string]: readonly string[] } = {
  ...each(['dob', 'dateOfBirth', 'birthday'], ['birthDate']),
  ...each(['sex'], ['gender']),
  ...each(['firstName', 'forename', 'givenName', 'given'], ['given', 'name']),
  ...each(['lastName', 'surname', 'familyName', 'family'], ['family', 'name']),
  ...each(['fullName', 'displayName', 'title'], ['text', 'name']),
  ...each(['phone', 'phoneNumber', 'email', 'mobile'], ['telecom']),
  ...each(['zip', 'zipCode', 'postcode'], ['postalCode']),
  ...each(['street', 'streetAddress'], ['line', 'address']),
  ...each(['mrn', 'ssn'], ['identifier']),
  ...each(['createdAt', 'updatedAt', 'lastUpdated', 'versionId', 'profile', 'tag'], ['meta']),
  ...each(['patient'], ['subject']),
  ...each(['subject'], ['patient']),
  ...each(
    ['date', 'dateTime', 'time', 'timestamp'],
    [
      'effectiveDateTime',
      'occurrenceDateTime',
      'performedDateTime',
      'onsetDateTime',
      'authoredOn',
      'period',
      'created',
    ],
  ),
  // Connections of other GraphQL services.
  ...each(['node', 'item'], ['resource']),
  ...each(['nodes', 'items'], ['edges']),
  ...each(['pageInfo'], ['next', 'previous']),
  ...each(['hasNextPage', 'endCursor', 'nextCursor'], ['next']),
  ...each(['hasPreviousPage', 'startCursor'], ['previous']),
  ...each(['total', 'totalCount'], ['count']),
};

const ARGUMENTS: { readonly [name: string]: readonly string[] } = {
  ...each(['first', 'limit', 'take', 'top', 'last', 'perPage'], ['_count']),
  ...each(['skip', 'start'], ['_offset']),
  ...each(['after', 'before', 'page'], ['cursor', '_offset']),
  ...each(['where', 'filter', 'query', 'search'], ['_filter']),
  ...each(['orderBy', 'order', 'sortBy'], ['_sort']),
  ...each(['since', 'updatedAt', 'updatedAfter'], ['_lastUpdated']),
  ...each(['input', 'data', 'resource', 'body', 'payload', 'object'], ['res']),
  ...FIELDS,
};

/** @returns the existing field names for a field name from another API */
export function familiarField(name: string, isKnown: (name: string) => boolean): readonly string[] {
  return known(FIELDS, name, isKnown);
}

/** @returns the existing argument names for an argument name from another API */
export function familiarArgument(name: string, isKnown: (name: string) => boolean): readonly string[] {
  return known(ARGUMENTS, name, isKnown);
}

/** Suggests root fields for names such as `getPatient`, `patients` and `PatientSearch`. */
export function familiarQuery(name: string, isType: (name: string) => string | undefined): readonly string[] {
  const base = plain(name).replace(/^(?:get|list|find|search|all|read|fetch)/, '');
  const ending = ENDING.exec(base)![0];
  const type = isType(base.slice(0, base.length - ending.length)) ?? isType(base);
  if (type === undefined) return [];
  if (ending === 'connection') return [`${type}Connection`];
  return ending === BY_ID ? [type] : [`${type}List`, type];
}

const BY_ID = plain('byId');
const ENDING = new RegExp(`(?:connection|collection|list|search|bundle|${BY_ID}|all|es|s)?$`);

/** Suggests mutations for names such as `createPatient` and `deletePatient`. */
export function familiarMutation(name: string, isType: (name: string) => string | undefined): readonly string[] {
  for (const [verbs, suffix] of VERBS) {
    const match = new RegExp(`^(?:${verbs})(.+)$|^(.+?)(?:${verbs})$`).exec(plain(name));
    const type = match === null ? undefined : isType(match[1] ?? match[2]!);
    if (type !== undefined) return [`${type}${suffix}`];
  }
  return [];
}

const VERBS = [
  ['create|add|insert|new', 'Create'],
  ['update|edit|save|put|upsert', 'Update'],
  ['patch|modify', 'Patch'],
  ['delete|remove', 'Delete'],
] as const;

function known(
  names: { readonly [name: string]: readonly string[] },
  name: string,
  isKnown: (name: string) => boolean,
): readonly string[] {
  const key = plain(name);
  return Object.hasOwn(names, key) ? names[key]!.filter(isKnown).slice(0, 2) : [];
}

function plain(name: string): string {
  return name.slice(0, MAX_LENGTH).toLowerCase().replaceAll('_', '');
}

function each(names: readonly string[], meant: readonly string[]): { readonly [name: string]: readonly string[] } {
  return Object.fromEntries(names.map((name) => [plain(name), meant]));
}

/**
 * Names that people know from elsewhere, in lower case and without underscores, with what FHIR or this schema calls them.
 * Of several, those that exist where the name is used are meant.
 */
const FIELDS: { readonly [name: string]: readonly string[] } = {
  ...each(['dob', 'dateofbirth', 'birthday'], ['birthDate']),
  ...each(['sex'], ['gender']),
  ...each(['firstname', 'forename', 'givenname', 'given'], ['given', 'name']),
  ...each(['lastname', 'surname', 'familyname', 'family'], ['family', 'name']),
  ...each(['fullname', 'displayname', 'title'], ['text', 'name']),
  ...each(['phone', 'phonenumber', 'email', 'mobile'], ['telecom']),
  ...each(['zip', 'zipcode', 'postcode'], ['postalCode']),
  ...each(['street', 'streetaddress'], ['line', 'address']),
  ...each(['mrn', 'ssn'], ['identifier']),
  ...each(['createdat', 'updatedat', 'lastupdated', 'versionid', 'profile', 'tag'], ['meta']),
  ...each(['patient'], ['subject']),
  ...each(['subject'], ['patient']),
  ...each(
    ['date', 'datetime', 'time', 'timestamp'],
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
  ...each(['pageinfo'], ['next', 'previous']),
  ...each(['hasnextpage', 'endcursor', 'nextcursor'], ['next']),
  ...each(['haspreviouspage', 'startcursor'], ['previous']),
  ...each(['total', 'totalcount'], ['count']),
};

const ARGUMENTS: { readonly [name: string]: readonly string[] } = {
  ...each(['first', 'limit', 'take', 'top', 'last', 'perpage'], ['_count']),
  ...each(['skip', 'start'], ['_offset']),
  ...each(['after', 'before', 'page'], ['cursor', '_offset']),
  ...each(['where', 'filter', 'query', 'search'], ['_filter']),
  ...each(['orderby', 'order', 'sortby'], ['_sort']),
  ...each(['since', 'updatedat', 'updatedafter'], ['_lastUpdated']),
  ...each(['input', 'data', 'resource', 'body', 'payload', 'object'], ['res']),
  ...FIELDS,
};

/** @returns the names that exist here for a field name from elsewhere */
export function familiarField(name: string, isKnown: (name: string) => boolean): readonly string[] {
  return known(FIELDS, name, isKnown);
}

/** @returns the names that exist here for an argument name from elsewhere */
export function familiarArgument(name: string, isKnown: (name: string) => boolean): readonly string[] {
  return known(ARGUMENTS, name, isKnown);
}

/** `getPatient`, `patients`, `PatientSearch`: which root fields are meant. */
export function familiarQuery(name: string, isType: (name: string) => string | undefined): readonly string[] {
  const base = plain(name).replace(/^(?:get|list|find|search|all|read|fetch)/, '');
  const ending = /(?:connection|collection|list|search|bundle|byid|all|es|s)?$/.exec(base)![0];
  const type = isType(base.slice(0, base.length - ending.length)) ?? isType(base);
  if (type === undefined) return [];
  if (ending === 'connection') return [`${type}Connection`];
  return ending === 'byid' ? [type] : [`${type}List`, type];
}

/** `createPatient`, `deletePatient`: which mutation is meant. */
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

/** Of the names that are looked up here; none is longer. */
const MAX_LENGTH = 100;

function each(names: readonly string[], meant: readonly string[]): { readonly [name: string]: readonly string[] } {
  return Object.fromEntries(names.map((name) => [name, meant]));
}

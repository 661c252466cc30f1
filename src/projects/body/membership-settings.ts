import type { Identifier } from '@medplum/fhirtypes';
import type { Clearance } from '../../access/narrowing.js';
import { clearanceExtension } from '../../access/policy/clearance-criteria.js';
import { withoutNulls } from '../../fhir/json/decimal-texts.js';
import { OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { type BodyReader, join, type LocalReference, own } from './body-reader.js';

/** One item of `ProjectMembership.access`: a policy with the values of its parameters. */
interface MembershipAccess {
  policy: LocalReference;
  parameter?: AccessParameter[];
}

/** The value of one policy parameter: one of the two. */
interface AccessParameter {
  name: string;
  valueReference?: LocalReference;
  valueString?: string;
}

/** The settings of a membership chosen by administrators. Absent: unchanged, or the default. Null: removed. */
export interface MembershipSettings {
  readonly admin?: boolean;
  readonly active?: boolean;
  readonly accessPolicy?: LocalReference | null;
  readonly access?: MembershipAccess[] | null;
  readonly externalId?: string | null;
  readonly userName?: string | null;
  readonly identifier?: Identifier[] | null;
  readonly userConfiguration?: LocalReference | null;
  /** When the access ends: ISO 8601 instant, UTC. */
  readonly expires?: string | null;
  readonly clearance?: readonly Clearance[] | null;
}

/** The fields of {@link MembershipSettings}, as a body names them. */
export const MEMBERSHIP_FIELDS = [
  'admin',
  'active',
  'accessPolicy',
  'access',
  'externalId',
  'userName',
  'identifier',
  'userConfiguration',
  'expires',
  'clearance',
] as const;

/**
 * Reads the chosen settings out of a body.
 *
 * @param removable whether null removes a setting; otherwise null means absent
 */
export function readMembershipSettings(
  reader: BodyReader,
  body: JsonObject,
  path: string,
  removable: boolean,
): MembershipSettings {
  const fields: { [name: string]: unknown } = {
    admin: reader.flag(body, 'admin', path),
    active: reader.flag(body, 'active', path),
    externalId: reader.text(body, 'externalId', path),
    userName: reader.text(body, 'userName', path),
    accessPolicy: readPolicy(reader, own(body, 'accessPolicy'), join(path, 'accessPolicy')),
    access: readAccess(reader, own(body, 'access'), join(path, 'access')),
    identifier: readIdentifiers(reader, own(body, 'identifier'), join(path, 'identifier')),
    userConfiguration: readReference(reader, own(body, 'userConfiguration'), join(path, 'userConfiguration')),
    expires: readInstant(reader, body, 'expires', path),
    clearance: readClearances(reader, own(body, 'clearance'), join(path, 'clearance')),
  };
  for (const name of MEMBERSHIP_FIELDS) {
    const cleared = Object.hasOwn(body, name) && (body[name] === null || isEmptyList(body[name]));
    if (removable && cleared) {
      if (name === 'admin' || name === 'active')
        reader.fault(join(path, name), `${join(path, name)} must be true or false`);
      else fields[name] = null;
    } else if (fields[name] === undefined) delete fields[name];
  }
  return fields;
}

/** The membership with the settings applied; a new object. */
export function withSettings<Membership extends object>(
  membership: Membership,
  { expires, clearance, ...settings }: MembershipSettings,
): Membership {
  let settled = withoutNulls({ ...membership, ...settings });
  if (expires !== undefined) {
    const ends = expires === null ? [] : [{ valueInstant: expires }];
    settled = withExtensions(settled, OWN_EXTENSIONS.accessExpires, ends);
  }
  if (clearance === undefined) return settled;
  return withExtensions(settled, OWN_EXTENSIONS.clearance, (clearance ?? []).map(clearanceExtension));
}

/** Every policy that the settings name, with the path of the field that names it. */
export function policiesOf(settings: MembershipSettings, path: string): { reference: string; path: string }[] {
  const single = settings.accessPolicy == null ? [] : [{ ...settings.accessPolicy, path: join(path, 'accessPolicy') }];
  const access = (settings.access ?? []).map(({ policy }, index) => ({
    ...policy,
    path: `${join(path, 'access')}[${index}].policy`,
  }));
  return [...single, ...access].map(({ reference, path: at }) => ({ reference, path: at }));
}

function readClearances(reader: BodyReader, value: unknown, path: string): Clearance[] | undefined {
  if (value === undefined || isEmptyList(value)) return undefined;
  return reader.list(value, path).flatMap((item, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(item)) return reader.fault(at, `${at} must be an object with a system and codes`) ?? [];
    reader.known(item, at, ['system', 'codes']);
    const system = reader.requiredText(item, 'system', at);
    const codes = reader.list(item['codes'], `${at}.codes`);
    if (codes.every((code) => typeof code === 'string' && code !== '')) return [{ system, codes: codes as string[] }];
    return reader.fault(`${at}.codes`, `${at}.codes must be a list of strings`) ?? [];
  });
}

/** A time with its zone, so that it is the same moment everywhere. */
function readInstant(reader: BodyReader, body: JsonObject, name: string, path: string): string | undefined {
  const text = reader.text(body, name, path);
  if (text === undefined) return undefined;
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  return reader.fault(join(path, name), `${join(path, name)} must be a time with its zone: 2030-01-31T18:00:00Z`);
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

function readPolicy(reader: BodyReader, value: unknown, path: string): LocalReference | undefined {
  return value === undefined ? undefined : reader.reference(value, path, ['AccessPolicy']);
}

function readReference(reader: BodyReader, value: unknown, path: string): LocalReference | undefined {
  return value === undefined ? undefined : reader.reference(value, path, ['UserConfiguration']);
}

/** An empty list means no choice, so that it cannot accidentally remove all access. */
function readAccess(reader: BodyReader, value: unknown, path: string): MembershipAccess[] | undefined {
  if (value === undefined || isEmptyList(value)) return undefined;
  return reader.list(value, path).flatMap((item, index): MembershipAccess[] => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(item)) return reader.fault(at, `${at} must be an object with a policy`) ?? [];
    reader.known(item, at, ['policy', 'parameter']);
    const policy = reader.reference(own(item, 'policy'), `${at}.policy`, ['AccessPolicy']);
    const parameter = readParameters(reader, own(item, 'parameter'), `${at}.parameter`);
    return policy === undefined ? [] : [{ policy, ...(parameter === undefined ? {} : { parameter }) }];
  });
}

function readParameters(reader: BodyReader, value: unknown, path: string): AccessParameter[] | undefined {
  if (value === undefined || isEmptyList(value)) return undefined;
  return reader.list(value, path).flatMap((item, index): AccessParameter[] => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(item)) return reader.fault(at, `${at} must be an object with a name and a value`) ?? [];
    reader.known(item, at, ['name', 'valueReference', 'valueString']);
    const name = own(item, 'name');
    if (typeof name !== 'string' || !/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) {
      return reader.fault(`${at}.name`, `${at}.name must be the name of a policy parameter, without the % sign`) ?? [];
    }
    const reference = own(item, 'valueReference');
    const text = own(item, 'valueString');
    if ((reference === undefined) === (text === undefined)) {
      return reader.fault(at, `${at} must have either valueReference or valueString`) ?? [];
    }
    if (reference !== undefined) {
      const valueReference = reader.reference(reference, `${at}.valueReference`);
      return valueReference === undefined ? [] : [{ name, valueReference }];
    }
    const valueString = reader.text(item, 'valueString', at);
    return valueString === undefined ? [] : [{ name, valueString }];
  });
}

function readIdentifiers(reader: BodyReader, value: unknown, path: string): Identifier[] | undefined {
  if (value === undefined || isEmptyList(value)) return undefined;
  return reader.list(value, path).flatMap((item, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(item)) return reader.fault(at, `${at} must be an Identifier`) ?? [];
    reader.known(item, at, ['use', 'system', 'value']);
    const [use, system, text] = ['use', 'system', 'value'].map((name) => reader.text(item, name, at));
    return [
      {
        ...(use === undefined ? {} : { use: use as NonNullable<Identifier['use']> }),
        ...(system === undefined ? {} : { system }),
        ...(text === undefined ? {} : { value: text }),
      },
    ];
  });
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

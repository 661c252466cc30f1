import type { Reference } from '@medplum/fhirtypes';
import type { Clearance } from '../../access/narrowing.js';
import { normalizeEmail } from '../../access/write/stamp.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { assertBody, BodyReader, type LocalReference, own } from './body-reader.js';
import { MEMBERSHIP_FIELDS, type MembershipSettings, readMembershipSettings } from './membership-settings.js';

/** The types of people's profiles. */
export type PersonType = 'Patient' | 'Practitioner' | 'RelatedPerson';

/** The value of a parameter of a policy: a string or a Reference. */
export interface ParameterChoice {
  name: string;
  valueString?: string | undefined;
  valueReference?: Reference | undefined;
}

/** A business identifier of a membership. */
export interface MembershipIdentifier {
  use?: string | undefined;
  system?: string | undefined;
  value?: string | undefined;
}

/** A policy with values for its parameters, in the body of an invite. */
export interface AccessChoice {
  policy: Reference;
  parameter?: ParameterChoice[] | undefined;
}

/** The settings of a ProjectMembership that an invite may choose. */
export interface MembershipChoice {
  resourceType?: 'ProjectMembership' | undefined;
  admin?: boolean | undefined;
  active?: boolean | undefined;
  accessPolicy?: Reference | undefined;
  access?: AccessChoice[] | undefined;
  externalId?: string | undefined;
  userName?: string | undefined;
  userConfiguration?: Reference | undefined;
  identifier?: MembershipIdentifier[] | undefined;
  /** When the access ends, as a time with its zone: `2030-01-31T18:00:00Z`. Default: never. */
  expires?: string | undefined;
  /** The labels of resources that the member is cleared for. Default: all. */
  clearance?: Clearance[] | undefined;
  /** The profile to use, instead of the User's profile in this project or a new one. */
  profile?: Reference | string | undefined;
}

/** The person to invite, the profile type, and the rights. */
export interface InviteBody {
  /** Type of the person's profile in the project. */
  resourceType: PersonType;
  firstName: string;
  lastName: string;
  /** Required without `externalId`. */
  email?: string | undefined;
  /**
   * The person's id with the host's identity provider, unique in the project. A new User with it belongs to this
   * project.
   */
  externalId?: string | undefined;
  /** Send an invitation e-mail. Default true if there is an address. */
  sendEmail?: boolean | 'true' | 'false' | undefined;
  membership?: MembershipChoice | undefined;
  /** The same as `membership.admin`. */
  admin?: boolean | undefined;
  /** The Patient of a RelatedPerson; required to create one. */
  patient?: Reference | string | undefined;
  /**
   * Where a new User lives: on the server, or in this project only. Default: the project for Patients, otherwise the
   * server.
   */
  scope?: 'project' | 'server' | undefined;
  /** If the person is already a member, update that membership instead of failing. Default false. */
  upsert?: boolean | undefined;
  /** If the person is already a member, create another membership. Default false. */
  forceNewMembership?: boolean | undefined;
  /** Create a new profile, even if other profiles have the e-mail address. Default false. */
  newProfile?: boolean | undefined;
  /** See {@link InviteDryRun}. */
  dryRun?: false | undefined;
  /** A new User must enroll a second factor. Default false. */
  mfaRequired?: boolean | undefined;
  /** @deprecated use `membership.accessPolicy` */
  accessPolicy?: Reference | undefined;
  /** @deprecated use `membership.access` */
  access?: AccessChoice[] | undefined;
}

/** The body of an invite that may be a dry run: check everything and write nothing. */
export interface InviteDryRun extends Omit<InviteBody, 'dryRun'> {
  /** Check everything and write nothing. Users outside the project count as unknown. */
  dryRun: boolean;
}

/** A checked and normalized {@link InviteBody}. */
export interface InviteRequest {
  readonly resourceType: PersonType;
  readonly firstName: string;
  readonly lastName: string;
  /** In normal form. */
  readonly email: string | undefined;
  readonly externalId: string | undefined;
  readonly sendEmail: boolean;
  /** `externalId` included. */
  readonly settings: MembershipSettings;
  /** The path of the policies in the body: `membership`, or the top level. */
  readonly policyPath: string;
  readonly profile: string | undefined;
  readonly patient: string | undefined;
  readonly scope: 'project' | 'server';
  readonly mode: 'new' | 'upsert' | 'another';
  readonly newProfile: boolean;
  readonly dryRun: boolean;
  readonly mfaRequired: boolean;
}

/**
 * Reads the body of an invite.
 *
 * @throws FhirError `invalid` - one issue per field that is missing or malformed, its path as expression
 */
export function parseInviteBody(model: FhirModel, input: unknown): InviteRequest {
  const body = assertBody(input, 'An invite');
  const reader = new BodyReader(model);
  reader.known(body, '', FIELDS);
  const resourceType = readType(reader, body);
  const firstName = reader.requiredText(body, 'firstName', '');
  const lastName = reader.requiredText(body, 'lastName', '');
  const email = readEmail(reader, body);
  const sendEmail = readSendEmail(reader, body);
  const membership = readMembership(reader, body);
  const { settings, policyPath } = joinSettings(reader, body, membership);
  const externalId = settings.externalId ?? undefined;
  if (own(body, 'email') === undefined && externalId === undefined) {
    reader.fault('email', 'email is required, or else externalId', 'required');
  }
  const profile = membership && readProfile(reader, membership, resourceType);
  const request: InviteRequest = {
    resourceType,
    firstName,
    lastName,
    email,
    externalId,
    sendEmail,
    settings,
    policyPath,
    profile: profile?.reference,
    patient: readPatient(reader, body, resourceType)?.reference,
    scope: readScope(reader, body, resourceType, externalId),
    mode: readMode(reader, body),
    newProfile: readNewProfile(reader, body, profile !== undefined),
    dryRun: reader.flag(body, 'dryRun', '') ?? false,
    mfaRequired: reader.flag(body, 'mfaRequired', '') ?? false,
  };
  reader.assertGood('The invite cannot be carried out');
  return request;
}

const FIELDS = [
  'resourceType',
  'firstName',
  'lastName',
  'email',
  'externalId',
  'sendEmail',
  'membership',
  'admin',
  'patient',
  'scope',
  'upsert',
  'forceNewMembership',
  'newProfile',
  'dryRun',
  'mfaRequired',
  'accessPolicy',
  'access',
];

function readType(reader: BodyReader, body: JsonObject): PersonType {
  const value = own(body, 'resourceType');
  if (value === 'Patient' || value === 'Practitioner' || value === 'RelatedPerson') return value;
  const code = value === undefined ? 'required' : 'invalid';
  reader.fault('resourceType', 'resourceType must be Patient, Practitioner or RelatedPerson', code);
  return 'Patient';
}

function readEmail(reader: BodyReader, body: JsonObject): string | undefined {
  const value = own(body, 'email');
  if (value === undefined) return undefined;
  const email = typeof value === 'string' ? plausibleEmail(value) : undefined;
  return email ?? reader.fault('email', 'email must be one e-mail address, such as name@example.org');
}

function readSendEmail(reader: BodyReader, body: JsonObject): boolean {
  const value = own(body, 'sendEmail');
  if (value === undefined || value === true || value === 'true') return true;
  if (value !== false && value !== 'false') reader.fault('sendEmail', 'sendEmail must be true or false');
  return false;
}

function readMembership(reader: BodyReader, body: JsonObject): JsonObject | undefined {
  const value = own(body, 'membership');
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) return reader.fault('membership', 'membership must be an object');
  reader.known(value, 'membership', ['resourceType', 'profile', ...MEMBERSHIP_FIELDS]);
  const type = own(value, 'resourceType');
  if (type !== undefined && type !== 'ProjectMembership') {
    reader.fault('membership.resourceType', 'membership.resourceType must be ProjectMembership');
  }
  return value;
}

/** Merges the settings at the top level with those in `membership`; they must agree. */
function joinSettings(
  reader: BodyReader,
  body: JsonObject,
  membership: JsonObject | undefined,
): { settings: MembershipSettings; policyPath: string } {
  const named = ['admin', 'externalId', 'accessPolicy', 'access'].flatMap((name) =>
    own(body, name) === undefined ? [] : [[name, body[name]] as const],
  );
  const top = readMembershipSettings(reader, Object.fromEntries(named), '', false);
  const inner = membership === undefined ? {} : readMembershipSettings(reader, membership, 'membership', false);
  for (const name of ['admin', 'externalId', 'accessPolicy', 'access'] as const) {
    if (top[name] === undefined || inner[name] === undefined || sameJson(top[name], inner[name])) continue;
    reader.fault(name, `${name} contradicts membership.${name}; leave one of them out`, 'business-rule');
  }
  const atTop = top.accessPolicy !== undefined || top.access !== undefined;
  return { settings: { ...top, ...inner }, policyPath: atTop ? '' : 'membership' };
}

function readProfile(reader: BodyReader, membership: JsonObject, type: PersonType): LocalReference | undefined {
  const value = own(membership, 'profile');
  return value === undefined ? undefined : reader.reference(value, 'membership.profile', [type]);
}

function readPatient(reader: BodyReader, body: JsonObject, type: PersonType): LocalReference | undefined {
  const value = own(body, 'patient');
  if (value === undefined) return undefined;
  if (type !== 'RelatedPerson') return reader.fault('patient', 'patient is for a RelatedPerson only');
  return reader.reference(value, 'patient', ['Patient']);
}

/** An external id is only meaningful in this project, so its User belongs to the project. */
function readScope(
  reader: BodyReader,
  body: JsonObject,
  type: PersonType,
  externalId: string | undefined,
): 'project' | 'server' {
  const value = own(body, 'scope');
  if (value !== undefined && value !== 'project' && value !== 'server') {
    reader.fault('scope', 'scope must be project or server');
  }
  if (externalId !== undefined) {
    if (value === 'server') reader.fault('scope', 'scope cannot be server together with externalId', 'business-rule');
    return 'project';
  }
  if (value === 'project' || value === 'server') return value;
  return type === 'Patient' ? 'project' : 'server';
}

function readMode(reader: BodyReader, body: JsonObject): InviteRequest['mode'] {
  const upsert = reader.flag(body, 'upsert', '');
  const another = reader.flag(body, 'forceNewMembership', '');
  if (upsert === true && another === true) {
    reader.fault('forceNewMembership', 'forceNewMembership and upsert exclude each other', 'business-rule');
  }
  return upsert === true ? 'upsert' : another === true ? 'another' : 'new';
}

function readNewProfile(reader: BodyReader, body: JsonObject, isNamed: boolean): boolean {
  const value = reader.flag(body, 'newProfile', '') ?? false;
  if (value && isNamed) {
    reader.fault('newProfile', 'newProfile and membership.profile exclude each other', 'business-rule');
  }
  return value;
}

/** Longest address, in UTF-16 code units. See https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1. */
const MAX_LENGTH = 254;

/** Characters that could end an address inside a mail header or start another one. */
const UNFIT = /[\s\p{C}\p{Z}()<>[\]\\,;:"]/u;

/**
 * Normalizes a plausible e-mail address: one `@`, text on both sides, nothing that could break out of a mail header.
 * Quoted local parts and address literals are not accepted.
 *
 * @returns undefined for anything else
 */
export function plausibleEmail(text: string): string | undefined {
  if (text.length > 2 * MAX_LENGTH) return undefined;
  const email = normalizeEmail(text);
  if (email.length > MAX_LENGTH || UNFIT.test(email)) return undefined;
  const parts = email.split('@');
  if (parts.length !== 2) return undefined;
  const [local, domain] = parts as [string, string];
  const dotted = [local, domain].every((part) => part.split('.').every((label) => label !== ''));
  return dotted && local.length <= 64 ? email : undefined;
}

import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import { secretFields } from '../../fhir/resource.js';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import {
  ALL_INTERACTIONS,
  READ_INTERACTIONS,
  type AccessRule,
  type AccessRules,
  type Interaction,
  rulesByType,
} from '../rule.js';
import { compartmentCriteria } from './policy-criteria.js';

/**
 * The rules of a member without policies, by the type of its profile.
 *
 * | profile | may |
 * |---|---|
 * | Practitioner, Bot, ClientApplication | everything in the project, except the administrative types |
 * | Patient | read its own compartment |
 * | RelatedPerson | read the compartment of its patient, and its own RelatedPerson |
 *
 * @param patient id of the Patient itself, or of the RelatedPerson's
 */
export function defaultRules(model: FhirModel, profileType: string, patient: string | undefined): AccessRules {
  return rulesByType(model, (type) => {
    if (!coveredByWildcard(type)) return [];
    if (profileType === 'Patient' || profileType === 'RelatedPerson') {
      if (patient === undefined) return [];
      const criteria = compartmentCriteria(model, type, { type: 'Patient', id: patient });
      return criteria.kind === 'none'
        ? []
        : [
            rule(`default for ${profileType}: the compartment of Patient/${patient}`, READ_INTERACTIONS, criteria, {
              type,
            }),
          ];
    }
    return [rule(`default for ${profileType}: the project`, ALL_INTERACTIONS, ALL, { type })];
  });
}

/**
 * The rules of every member regardless of policies: it may read and change its own User.
 *
 * Not its e-mail: an invitation goes to the User with the address, so a member who takes an address would receive its
 * owner's invitations. Trusted code changes it once the host has verified the new one.
 */
export function ownUserRules(model: FhirModel, user: string): AccessRules {
  const { type, id } = splitReference(user);
  return rulesByType(model, (asked) =>
    asked !== 'User' || type !== 'User'
      ? []
      : [
          rule(
            'the own User',
            [...READ_INTERACTIONS, 'update'],
            { kind: 'id', ids: [id] },
            {
              type: 'User',
              readonlyFields: othersUserFields(model),
            },
          ),
        ],
  );
}

/**
 * The rules by which a member that is not an administrator reads its own membership and project. Neither shows how access is
 * decided: no policies, no settings. Administrators have {@link administratorRules} for both.
 */
export function ownPlaceRules(model: FhirModel, project: string, membership: string): AccessRules {
  return rulesByType(model, (type) => {
    if (type !== 'ProjectMembership' && type !== 'Project') return [];
    const [text, id] = type === 'Project' ? ['the own project', project] : ['the own membership', membership];
    const hidden = [...model.typeDefinition(type)!.elements.keys()].filter((name) => !SHOWN_OF_PLACE[type].has(name));
    return [rule(text, READ_INTERACTIONS, { kind: 'id', ids: [id] }, { type, hidden })];
  });
}

/** All other elements are hidden, so that elements added in later definitions are closed until reviewed. */
const SHOWN_OF_PLACE: Readonly<Record<'Project' | 'ProjectMembership', ReadonlySet<string>>> = {
  Project: new Set(['active', 'description', 'id', 'identifier', 'meta', 'name']),
  ProjectMembership: new Set([
    'active',
    'admin',
    'externalId',
    'id',
    'identifier',
    'meta',
    'profile',
    'project',
    'user',
    'userConfiguration',
    'userName',
  ]),
};

/** Elements of a User that do not affect others, and so the only ones that people may change. */
const PERSONAL: ReadonlySet<string> = new Set([
  'contained',
  'extension',
  'firstName',
  'id',
  'language',
  'lastName',
  'meta',
  'modifierExtension',
  'text',
]);

/** All others, so that elements added in later definitions are closed until reviewed. */
function othersUserFields(model: FhirModel): readonly string[] {
  const defined = [...model.typeDefinition('User')!.elements.keys()].filter((name) => !PERSONAL.has(name));
  // Not an element of the definitions; sign-in still rejects a User with `status: off`.
  return [...defined, 'status'];
}

/**
 * The additional rules of a project administrator: see the people, clients and Bots of the project, write its policies,
 * and change the name and the settings of the project itself. Memberships are read here and written by invite,
 * updateMember and removeMember only; Users belong to themselves.
 *
 * @param readonly true for a super administrator with access policies: it may read but not change these, since it could
 * change its own restrictions, or members with more power
 */
export function administratorRules(model: FhirModel, project: string, readonly = false): AccessRules {
  return rulesByType(model, (type) => administratorRulesFor(type, project, readonly));
}

/** {@link administratorRules} for one type. */
export function administratorRulesFor(type: string, project: string, readonly = false): readonly AccessRule[] {
  const interactions = (...writes: readonly Interaction[]): readonly Interaction[] =>
    readonly ? READ_INTERACTIONS : [...READ_INTERACTIONS, ...writes];
  switch (type) {
    case 'AccessPolicy':
      return [rule('project administrator', interactions('create', 'update', 'delete'), ALL, { type })];
    case 'ProjectMembership':
    case 'ClientApplication':
    case 'Bot':
      return [rule('project administrator', READ_INTERACTIONS, ALL, { type })];
    case 'User':
      return [rule('project administrator: members of the project', READ_INTERACTIONS, MEMBER_USERS, { type })];
    case 'Project':
      return [
        rule(
          'project administrator: the own project',
          interactions('update'),
          { kind: 'id', ids: [project] },
          {
            type,
            readonlyFields: OPERATORS_FIELDS,
          },
        ),
      ];
    default:
      return [];
  }
}

/** Elements of a Project reserved for the operator: the project's own administrators cannot change them. */
export const OPERATORS_FIELDS = [
  'active',
  'features',
  'link',
  'owner',
  'strictMode',
  'superAdmin',
  'systemSetting',
] as const;

/** Combines the rules of several sources, which add up. */
export function joinRules(model: FhirModel, sources: readonly AccessRules[]): AccessRules {
  return rulesByType(model, (type) => sources.flatMap((source) => source.rulesFor(type)));
}

function rule(
  text: string,
  interactions: readonly Interaction[],
  criteria: Criteria,
  more: {
    readonly type: string;
    readonly readonlyFields?: readonly string[];
    readonly hidden?: readonly string[];
  },
): AccessRule {
  return {
    origin: { policy: undefined, text },
    interactions: new Set(interactions),
    criteria,
    hidden: [...(more.hidden ?? []), ...secretFields(more.type)],
    readonlyFields: more.readonlyFields ?? [],
    writeConstraints: [],
  };
}

/** Criteria that represent "Users who are members of the caller's project"; see `resolveMemberUsers`. */
export const MEMBER_USERS: Criteria = Object.freeze({
  kind: 'has',
  type: 'ProjectMembership',
  parameter: 'user',
  of: ALL,
});

import type { Write } from 'fhirgraph/store';
import { randomCondition } from './criteria.js';
import { Draw } from './draw.js';
import type { DataType, RandomData } from './random-data.js';

/**
 * Members with criteria in their access: a condition of any kind on each type, a reference to the member, a reference to a
 * parameter of the membership, an alternative of two rules, and the compartment of a patient.
 */
export const MEMBERS = ['condition', 'profile', 'parameter', 'rules', 'patient'] as const;

export type Member = (typeof MEMBERS)[number];

/** The project and its members. */
export function randomMembers(project: string, data: RandomData, seed: number): Write[] {
  const draw = new Draw(seed, 2);
  const condition = ({ type }: DataType): string => criteriaOf(data, type, draw);
  const rules: { readonly [member in Exclude<Member, 'patient'>]: (type: DataType) => readonly string[] } = {
    condition: (type) => [condition(type)],
    profile: (type) => [linkTo(type, 'Practitioner', '%profile')],
    parameter: (type) => [linkTo(type, 'Organization', '%unit') || linkTo(type, 'Patient', '%person')],
    rules: (type) => [condition(type), condition(type)],
  };
  return [
    put('', { resourceType: 'Project', id: project, ...{ name: project, active: true } }),
    ...Object.entries(rules).flatMap(([name, criteria]) => [
      put(project, {
        resourceType: 'AccessPolicy',
        id: name,
        ...{ resource: data.types.flatMap((type) => criteria(type).map((one) => rule(type, one))) },
      }),
      ...membership(project, name, `Practitioner/${data.idOf('Practitioner', 0)}`, data),
    ]),
    ...membership(project, 'patient', `Patient/${data.idOf('Patient', 0)}`),
  ];
}

function criteriaOf(data: RandomData, name: string, draw: Draw): string {
  const { filter } = randomCondition(data, data.type(name)!, draw).write(draw);
  return `${name}?_filter=${encodeURIComponent(filter)}`;
}

/** Criteria for resources that refer to someone; an empty string if the type has no such reference. */
function linkTo({ type, fields }: DataType, target: string, to: string): string {
  const link = fields.find(({ kind, of }) => kind === 'reference' && of[0] === target);
  return link === undefined ? '' : `${type}?${link.parameter}=${to}`;
}

function rule({ type }: DataType, criteria: string): object {
  return { resourceType: type, interaction: ['read', 'search'], ...(criteria === '' ? {} : { criteria }) };
}

/** @param data of a member with a policy of the same name */
function membership(project: string, name: string, profile: string, data?: RandomData): Write[] {
  const parameter = [
    { name: 'unit', valueReference: { reference: `Organization/${data?.idOf('Organization', 0)}` } },
    { name: 'person', valueReference: { reference: `Patient/${data?.idOf('Patient', 0)}` } },
  ];
  const access = [{ policy: { reference: `AccessPolicy/${name}` }, parameter }];
  const links = { project: { reference: `Project/${project}` }, user: { reference: `User/${name}` } };
  return [
    put('', { resourceType: 'User', id: name, ...{ email: `${name}@example.org` } }),
    put(project, {
      resourceType: 'ProjectMembership',
      id: name,
      ...{ active: true, ...links, profile: { reference: profile }, ...(data === undefined ? {} : { access }) },
    }),
  ];
}

function put(project: string, resource: { readonly resourceType: string; readonly id: string }): Write {
  return { kind: 'put', key: { project, type: resource.resourceType, id: resource.id }, resource };
}

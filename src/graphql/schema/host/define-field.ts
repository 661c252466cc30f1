import type { ElementOf, HostField, HostParent, HostParentOf, HostRootField, HostWriteField } from './host-fields.js';
import type { ArgumentTexts } from './text-types.js';

/** The parent with only the elements that the resolver receives. */
export type ParentWithNeeds<Parent, Needs> = Needs extends '*'
  ? Parent
  : string extends keyof Parent
    ? Parent
    : Pick<
        Parent,
        Extract<(Needs extends readonly string[] ? Needs[number] : never) | 'resourceType' | 'id', keyof Parent>
      >;

/**
 * Types a field of the host: the compiler infers the types of its parents from `needs`, and the types of its arguments
 * and values from their SDL. It returns the field unchanged. `fields` also accepts fields without it, with weaker
 * types.
 *
 * @param on the type that the field is declared on, which types its parents
 *
 * @example
 * const age = defineField('Patient', {
 *   type: 'Int',
 *   args: { on: 'String!' },
 *   needs: ['birthDate'],
 *   resolve: (patients, { on }) => patients.map(({ birthDate }) => yearsBetween(birthDate, on)),
 * });
 * const service = createFhirGraphql({ store, fields: { Patient: { age } } });
 */
export function defineField<const Type extends string, const Args extends ArgumentTexts = Record<never, never>>(
  on: 'Mutation',
  field: HostWriteField<Type, Args>,
): HostWriteField;
export function defineField<const Type extends string, const Args extends ArgumentTexts = Record<never, never>>(
  on: 'Query' | 'Mutation',
  field: HostRootField<Type, Args>,
): HostRootField;
export function defineField<
  const On extends string,
  const Type extends string,
  const Args extends ArgumentTexts = Record<never, never>,
  const Needs extends readonly ElementOf<On>[] | '*' = readonly [],
>(
  on: On,
  field: Omit<HostField<ParentWithNeeds<HostParentOf<On>, Needs>, Type, Args>, 'needs'> & {
    readonly needs?: Needs | undefined;
  },
): HostField<HostParentOf<On>>;
export function defineField(
  _on: string,
  field: HostField<HostParent> | HostRootField | HostWriteField,
): HostField<HostParent> | HostRootField | HostWriteField {
  return field;
}

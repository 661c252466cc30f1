import { type FhirModel, perModel } from '../../../fhir/model/fhir-model.js';
import { didYouMean } from '../../../fhir/messages.js';
import { fieldsOf, MUTATION, QUERY, RESOURCE } from '../fields.js';
import { enumNamed } from '../enums.js';
import { inputFieldsOf, inputNamedByMedplum, JSON_VALUE, RESOURCE_INPUT } from '../input-fields.js';
import type { HostFields } from './host-fields.js';
import type { HostFieldDefinition, HostInputField, HostSchema, HostTypeDefinition, ParentKind } from './host-schema.js';
import { assertName, readField } from './read-field.js';
import { invalid, readTypes, type OwnTypes } from './read-types.js';
import { ServiceModel } from './service-model.js';
import { isList, namedTypeOf } from './type-reference.js';
import { getOrCreate, oncePer, pushTo } from '../../../platform/collections.js';

/** The additions of a host to the schema. */
export interface HostAdditions {
  readonly fields?: HostFields | undefined;
  /** The types that the fields use in addition to FHIR's, in SDL. */
  readonly types?: string | undefined;
  /** Enums for codes of required bindings. Default false. */
  readonly enums?: boolean | undefined;
}

/**
 * The definitions of a service with what its host adds; the model itself without additions. Compiled once per model and
 * object of fields.
 *
 * @throws FhirError `invalid` - names the field or type that does not fit
 */
export function modelWithHost(model: FhirModel, { fields, types, enums }: HostAdditions): FhirModel {
  if (fields === undefined && types === undefined && enums !== true) return model;
  if (fields !== undefined && (typeof fields !== 'object' || fields === null)) {
    throw invalid('fields', 'they are an object, with the fields by type');
  }
  if (types !== undefined && typeof types !== 'string') throw invalid('types', 'they are a string in SDL');
  const byText = MODELS(model)(fields ?? NO_FIELDS);
  const text = types ?? '';
  const key = enums === true ? `enums ${text}` : text;
  return getOrCreate(byText, key, () => compile(model, fields ?? {}, text, enums === true));
}

const NO_FIELDS = {};
const MODELS = perModel(() => oncePer((_fields: object) => new Map<string, FhirModel>()));

function compile(model: FhirModel, given: HostFields, text: string, enums: boolean): FhirModel {
  const own =
    text.trim() === '' ? { types: new Map<string, never>(), fields: new Map<string, never>() } : readTypes(text);
  const clash = enums ? [...own.types.keys()].find((name) => enumNamed(model, name) !== undefined) : undefined;
  if (clash !== undefined) throw invalid(`types, ${clash}`, 'an enum of FHIR has this name');
  const compiler = new Compiler(model, own);
  for (const [parent, fields] of Object.entries(given)) if (fields !== undefined) compiler.add(parent, fields);
  return new ServiceModel(model, compiler.finish(), enums);
}

class Compiler {
  readonly #fields: Map<string, HostFieldDefinition[]>;
  readonly #types: ReadonlyMap<string, HostTypeDefinition>;

  constructor(
    private readonly model: FhirModel,
    own: OwnTypes,
  ) {
    this.#types = own.types;
    this.#fields = own.fields;
    for (const name of own.types.keys()) {
      assertName(`types, ${name}`, name);
      if (isTaken(model, name)) throw invalid(`types, ${name}`, 'the schema has a type of this name');
    }
  }

  add(parent: string, fields: unknown): void {
    const kind = this.#kindOf(parent);
    if (kind === undefined) {
      const hint = didYouMean(parent, [...this.model.resourceTypes, ...this.#types.keys(), QUERY, MUTATION]);
      throw invalid(`fields.${parent}`, `there is no type that could have fields of this name.${hint}`);
    }
    if (typeof fields !== 'object' || fields === null) throw invalid(`fields.${parent}`, 'fields are objects by name');
    for (const [name, given] of Object.entries(fields as { readonly [name: string]: unknown })) {
      if (given === undefined) continue;
      const place = `fields.${parent}.${name}`;
      assertName(place, name);
      const written = readField(parent, kind, name, given);
      this.#assertFree(place, written);
      const field = { ...written, needs: this.#elementsOf(place, written) };
      pushTo(this.#fields, parent, field);
    }
  }

  finish(): HostSchema {
    for (const [parent, fields] of this.#fields) {
      for (const field of fields) {
        const place = field.source === 'property' ? `types, ${parent}.${field.name}` : `fields.${parent}.${field.name}`;
        assertName(place, field.name);
        this.#assertOutput(place, namedTypeOf(field.type));
        if (field.source === 'writes') this.#assertWritten(place, field);
        for (const arg of field.args) this.#assertInput(`${place}.args.${arg.name}`, arg);
      }
    }
    for (const type of this.#types.values()) this.#assertComplete(type);
    return { fields: this.#fields, types: this.#types };
  }

  #kindOf(parent: string): ParentKind | undefined {
    if (parent === QUERY) return 'query';
    if (parent === MUTATION) return 'mutation';
    if (parent === RESOURCE || this.model.isResourceType(parent)) return 'resource';
    if (this.model.typeDefinition(parent)?.kind === 'complex') return 'element';
    return this.#types.get(parent)?.kind === 'object' ? 'own' : undefined;
  }

  /** Every resource type has the fields of `Resource`. */
  #assertFree(place: string, { parent, name }: HostFieldDefinition): void {
    const types =
      parent === RESOURCE
        ? [RESOURCE, ...this.model.resourceTypes]
        : this.model.isResourceType(parent)
          ? [parent, RESOURCE]
          : [parent];
    const taken = types.find(
      (type) =>
        fieldsOf(this.model, type)?.has(name) === true ||
        this.#fields.get(type)?.some((field) => field.name === name) === true,
    );
    if (taken !== undefined) throw invalid(place, `${taken} has a field of this name`);
  }

  /** The elements that `needs` names, a choice by its base name as all its forms. */
  #elementsOf(place: string, { parent, needs }: HostFieldDefinition): readonly string[] | '*' {
    if (needs === '*' || needs.length === 0) return needs;
    const definition = this.model.typeDefinition(parent);
    if (definition === undefined) throw invalid(`${place}.needs`, 'objects of your own types are passed unchanged');
    const fields = fieldsOf(this.model, parent)!;
    const names = needs.flatMap((need): readonly string[] => {
      const field = fields.get(need);
      if (field?.kind === 'choice') return field.elements.map(({ name }) => name);
      if (field?.kind === 'element' || field?.kind === 'sibling' || field?.kind === 'resource-type') return [need];
      const hint = didYouMean(need, definition.elements.keys());
      throw invalid(`${place}.needs`, `${parent} has no element "${need}".${hint}`);
    });
    return [...new Set(names)];
  }

  #assertOutput(place: string, name: string): void {
    if (SCALARS.has(name) || name === JSON_VALUE || name === RESOURCE || this.model.isResourceType(name)) return;
    const own = this.#types.get(name);
    if (own !== undefined && own.kind !== 'input') return;
    if (own === undefined && this.model.typeDefinition(name)?.kind === 'complex') return;
    const names = [...this.#types.keys(), ...SCALARS, ...this.model.resourceTypes];
    throw invalid(
      place,
      own === undefined ? `there is no type "${name}".${didYouMean(name, names)}` : `"${name}" is a type for input`,
    );
  }

  #assertWritten(place: string, { type, result }: HostFieldDefinition): void {
    const name = namedTypeOf(type);
    if (result !== undefined || name === RESOURCE || this.model.isResourceType(name)) return;
    if (name === 'Boolean' && !isList(type)) return;
    throw invalid(place, `result is missing: "${name}" is neither a resource type nor Boolean`);
  }

  #assertInput(place: string, { type, defaultValue }: HostInputField): void {
    const name = namedTypeOf(type);
    const own = this.#types.get(name);
    const isInput =
      own === undefined
        ? SCALARS.has(name) ||
          name === JSON_VALUE ||
          name === RESOURCE_INPUT ||
          inputFieldsOf(this.model, name) !== undefined
        : own.kind !== 'object';
    if (!isInput) {
      throw invalid(place, own === undefined ? `there is no input type "${name}"` : `"${name}" is not an input type`);
    }
    if (defaultValue === null && type.kind === 'required') throw invalid(place, 'the default may not be null');
  }

  #assertComplete(type: HostTypeDefinition): void {
    const place = `types, ${type.name}`;
    switch (type.kind) {
      case 'object':
        if ((this.#fields.get(type.name) ?? []).length === 0) throw invalid(place, 'the type has no fields');
        return;
      case 'enum':
        if (type.values.length === 0) throw invalid(place, 'the enum has no values');
        return;
      case 'input':
        if (type.fields.length === 0) throw invalid(place, 'the input has no fields');
        for (const field of type.fields) {
          assertName(`${place}.${field.name}`, field.name);
          this.#assertInput(`${place}.${field.name}`, field);
        }
        return;
      case 'scalar':
    }
  }
}

const SCALARS: ReadonlySet<string> = new Set(['String', 'ID', 'Int', 'Float', 'Boolean']);

function isTaken(model: FhirModel, name: string): boolean {
  return (
    SCALARS.has(name) ||
    RESERVED.has(name) ||
    model.typeDefinition(name) !== undefined ||
    fieldsOf(model, name) !== undefined ||
    inputFieldsOf(model, name) !== undefined ||
    inputNamedByMedplum(model, name) !== undefined
  );
}

/** Names of the schema that no definition has. */
const RESERVED: ReadonlySet<string> = new Set([
  JSON_VALUE,
  RESOURCE_INPUT,
  'Subscription',
  'Choice',
  'SearchParameterName',
  'ResourceTypeName',
  '_Entity',
]);

import { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { SearchParameterDefinition, TypeDefinition } from '../../../fhir/model/definition-types.js';
import type { HostSchema } from './host-schema.js';

/**
 * The definitions of a service: those of its store, with what its host adds to the schema.
 *
 * It shares all definitions with the store's model, but caches per model are its own, so that schemas, documents and
 * plans of services with different schemas never mix. Only schema, validation and planning use it; access, search and
 * FHIRPath work with the model of the store.
 */
export class ServiceModel extends FhirModel {
  constructor(
    private readonly base: FhirModel,
    readonly host: HostSchema,
    /** Whether codes of required bindings are values of enums, in answers and inputs. */
    readonly enums: boolean,
  ) {
    super(base.texts);
  }

  override get baseUrl(): string | undefined {
    return this.base.baseUrl;
  }

  override withBaseUrl(baseUrl: string | undefined): FhirModel {
    return new ServiceModel(this.base.withBaseUrl(baseUrl), this.host, this.enums);
  }

  override get texts(): FhirModel['texts'] {
    return this.base.texts;
  }

  override get profiles(): FhirModel['profiles'] {
    return this.base.profiles;
  }

  override get terminology(): FhirModel['terminology'] {
    return this.base.terminology;
  }

  override terminologyOf(type: string, url: string): ReturnType<FhirModel['terminologyOf']> {
    return this.base.terminologyOf(type, url);
  }

  override get extensionFields(): FhirModel['extensionFields'] {
    return this.base.extensionFields;
  }

  override get definitions(): FhirModel['definitions'] {
    return this.base.definitions;
  }

  override get resourceTypes(): readonly string[] {
    return this.base.resourceTypes;
  }

  override get typeNames(): readonly string[] {
    return this.base.typeNames;
  }

  override isResourceType(name: string): boolean {
    return this.base.isResourceType(name);
  }

  override typeDefinition(name: string): TypeDefinition | undefined {
    return this.base.typeDefinition(name);
  }

  override isA(type: string, ancestor: string): boolean {
    return this.base.isA(type, ancestor);
  }

  override searchParameters(resourceType: string): ReadonlyMap<string, SearchParameterDefinition> {
    return this.base.searchParameters(resourceType);
  }

  override searchParameter(resourceType: string, code: string): SearchParameterDefinition | undefined {
    return this.base.searchParameter(resourceType, code);
  }

  override patientCompartment(resourceType: string): readonly string[] {
    return this.base.patientCompartment(resourceType);
  }

  override summaryElements(type: string): readonly string[] | undefined {
    return this.base.summaryElements(type);
  }

  override get fingerprint(): string {
    return this.base.fingerprint;
  }

  override get typesFingerprint(): string {
    return this.base.typesFingerprint;
  }
}

/** The host's part of a model; undefined for models without one. */
export function hostOf(model: FhirModel): HostSchema | undefined {
  return model instanceof ServiceModel ? model.host : undefined;
}

/** Whether the service has enums for codes of required bindings. */
export function hasEnums(model: FhirModel): boolean {
  return model instanceof ServiceModel && model.enums;
}

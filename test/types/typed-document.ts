// Compiled by `npm run typecheck`, never run: the wrong lines must not compile.

import {
  executeFhirGraphql,
  explainFhirGraphql,
  type FhirGraphql,
  type FhirGraphqlContext,
  type FhirGraphqlResult,
  type TypedDocument,
} from 'fhirgraph';
import type { DocumentNode } from 'graphql';

interface PatientQuery {
  readonly Patient: { readonly id: string; readonly name: readonly { readonly family: string | null }[] | null } | null;
}

declare const context: FhirGraphqlContext;
declare const typed: TypedDocument<PatientQuery, { readonly id: string }>;
declare const plain: DocumentNode;

/** The form of code generators: `TypedDocumentNode` of `@graphql-typed-document-node/core`. */
interface GeneratedDocument<Result, Variables> extends DocumentNode {
  __apiType?: (variables: Variables) => Result;
}
declare const generated: GeneratedDocument<PatientQuery, { id: string }>;

export async function aTypedDocumentGivesATypedResult(): Promise<readonly (string | null)[]> {
  const result = await executeFhirGraphql(typed, { ...context, variables: { id: '1' } });
  // @ts-expect-error the query selects no such field
  void result.data?.Patient?.gender;
  // @ts-expect-error a patient that cannot be read is null
  void result.data?.Patient.id;
  return result.data?.Patient?.name?.map(({ family }) => family) ?? [];
}

export async function soDoesAGeneratedOne(): Promise<string | undefined> {
  const { data } = await executeFhirGraphql(generated, { ...context, variables: { id: '1' } });
  return data?.Patient?.id;
}

export async function textAndPlainDocumentsGiveValuesToLookInto(): Promise<unknown> {
  const fromText = await executeFhirGraphql('{ PatientList { id } }', context);
  const fromDocument = await executeFhirGraphql(plain, context);
  // @ts-expect-error the type of the value is unknown
  const id: string | undefined = fromText.data?.['Patient'];
  return [id, fromDocument.data?.['Patient']];
}

export async function aResultTypeCanBeGivenForText(): Promise<string | undefined> {
  const result: FhirGraphqlResult<PatientQuery> = await executeFhirGraphql<PatientQuery>(
    '{ Patient(id: 1) { id } }',
    context,
  );
  return result.data?.Patient?.id;
}

export async function errorsSayTheirCode(): Promise<boolean | undefined> {
  const { errors } = await executeFhirGraphql('{ PatientList { id } }', context);
  // @ts-expect-error not one of the closed list of codes
  void (errors?.[0]?.extensions.code === 'missing');
  return errors?.some(({ extensions }) => extensions.code === 'not-found');
}

export async function theContextNeedsAStoreAndACaller(): Promise<void> {
  const variables = { id: '1' };
  // @ts-expect-error the caller is missing
  await executeFhirGraphql(typed, { store: context.store, variables });
  // @ts-expect-error the store is missing
  await executeFhirGraphql(typed, { caller: context.caller, variables });
  // @ts-expect-error only signIn and systemCaller create a caller
  await executeFhirGraphql(typed, { store: context.store, caller: 'clinic', variables });
  // @ts-expect-error no such limit
  await executeFhirGraphql(typed, { ...context, limits: { depht: 3 }, variables });
  // @ts-expect-error no such dialect
  await executeFhirGraphql(typed, { ...context, dialect: 'hl8', variables });
}

declare const allOptional: TypedDocument<PatientQuery, { readonly count?: number | null }>;
declare const without: TypedDocument<PatientQuery, { readonly [name: string]: never }>;

export async function requiredVariablesAreRequired(): Promise<void> {
  await executeFhirGraphql(typed, { ...context, variables: { id: '1' } });
  await explainFhirGraphql(typed, { ...context, variables: { id: '1' } });
  // @ts-expect-error the document requires an id
  await executeFhirGraphql(typed, { store: context.store, caller: context.caller });
  // @ts-expect-error the document requires an id
  await executeFhirGraphql(typed, context);
  // @ts-expect-error the document requires an id
  await executeFhirGraphql(typed, { ...context, variables: {} });
  // @ts-expect-error the document requires an id
  await executeFhirGraphql(typed, { ...context, variables: undefined });
  // @ts-expect-error the document requires an id
  await explainFhirGraphql(typed, context);
}

export async function variablesHaveTheirTypes(): Promise<void> {
  // @ts-expect-error an id is a string
  await executeFhirGraphql(typed, { ...context, variables: { id: 1 } });
  // @ts-expect-error no such variable
  await executeFhirGraphql(typed, { ...context, variables: { id: '1', idd: '2' } });
  // @ts-expect-error an id is a string
  await executeFhirGraphql(generated, { ...context, variables: { id: null } });
  // @ts-expect-error a count is a number
  await executeFhirGraphql(allOptional, { ...context, variables: { count: '1' } });
  // @ts-expect-error the document has no variables
  await executeFhirGraphql(without, { ...context, variables: { id: '1' } });
}

export async function optionalVariablesMayBeMissing(): Promise<void> {
  const { store, caller } = context;
  await executeFhirGraphql(allOptional, { store, caller });
  await executeFhirGraphql(allOptional, { store, caller, variables: undefined });
  await executeFhirGraphql(allOptional, { store, caller, variables: null });
  await executeFhirGraphql(allOptional, { store, caller, variables: {} });
  await executeFhirGraphql(allOptional, { store, caller, variables: { count: null } });
  await executeFhirGraphql(without, { store, caller });
  await executeFhirGraphql(without, { store, caller, variables: {} });
}

export async function textTakesAnyVariables(variables: { [name: string]: unknown }): Promise<void> {
  await executeFhirGraphql('{ PatientList { id } }', { ...context, variables });
  await executeFhirGraphql(plain, { ...context, variables: { anything: 1 } });
  await executeFhirGraphql({ documentId: 'patients' }, { ...context, variables });
}

declare const service: FhirGraphql;

export async function aServiceChecksVariablesToo(): Promise<string | undefined> {
  const { caller } = context;
  const { data } = await service.execute(typed, { caller, variables: { id: '1' } });
  await service.explain(typed, { caller, variables: { id: '1' } });
  await service.execute('{ PatientList { id } }', { caller, variables: { anything: 1 } });
  // @ts-expect-error the document requires an id
  await service.execute(typed, { caller });
  // @ts-expect-error the document requires an id
  await service.explain(typed, { caller, variables: {} });
  // @ts-expect-error there is no caller
  await service.execute(typed, { variables: { id: '1' } });
  return data?.Patient?.id;
}
